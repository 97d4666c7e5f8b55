// Package opshttp is the HTTP face of the registry of operations. It holds no logic of its own: who may call, what is checked
// and what is done is in package ops.
//
// What it promises:
//
//   - Every operation is POST {prefix}/v1/{name} with its input as a JSON object; no body is {}. The answer is its output.
//   - A destructive operation without the header Confirm does nothing and answers {"dry_run": {would, count, confirm}}; the same
//     call with that token in Confirm does it.
//   - Every failure is problem+json (RFC 9457) with the code of ops: see Problem. Input that is wrong never answers a 5xx.
//   - {prefix}/openapi.json describes it all in OpenAPI 3.1, from the schemas that the registry checks against. It needs no token
//     and is the same for the same registry.
//   - A request is bounded: ops.MaxInput bytes of body, Config.Timeout for all of it. How long its head may take is the server's
//     to say (http.Server.ReadHeaderTimeout).
//   - Every answer has an X-Request-Id, the caller's where it sent one of up to 64 letters, digits, dots, dashes and underscores;
//     the log of a failure of ours has it too.
package opshttp
