// Package ops declares every operation on a bus once: what it is called, what it takes and answers, who may call it and
// what it does. The faces (ops/http, ops/mcp, ops/cli and the panel) are projections of the registry and hold no logic of
// their own.
//
// What it promises:
//
//   - Every face has every operation, with the same input and output schema, the same checks and the same errors.
//   - Who may call is decided here and nowhere else: anonymous callers nothing, tokens what their scopes say, and a caller bound to
//     an owner sees and touches that owner's things only; what is another's is not found.
//   - An act and its line in the audit log commit together, or neither does. An act that was refused has a line too.
//   - A destructive operation first answers what it would touch, with a token that the second call must bring. The token is bound to
//     the operation, its input and the caller, and ends after ten minutes.
//   - Input that cannot be meant is refused before anything is done, with the field, the limit and the way out.
//   - Ids are strings, also those that are numbers inside: JavaScript has no 64-bit integers. Cursors are opaque; one that no page
//     gave is refused. A page has at most 200 entries.
package ops
