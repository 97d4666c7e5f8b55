// Package opsmcp is the registry of package ops as an MCP server, for programs that work with tools: over HTTP (streamable,
// without sessions) and over standard input and output.
//
// What it promises:
//
//   - Every operation is one tool with the operation's own schemas: "tasks.retry" is tasks_retry. A tool that writes is left out
//     where Config.ReadOnly says so, and calling it is an unknown tool.
//   - What a call answers is structured content that fits the tool's output schema, and the same as text for clients that read text
//     only. What goes wrong is an answer too, marked as an error: the JSON of ops.Error, so that the caller can mend the call. Only
//     an unknown tool and a message that is not MCP are errors of the protocol.
//   - A destructive tool called without "confirm" does nothing: it answers a dry run with the token to call again with. So clients
//     that cannot ask their user still confirm.
//   - A page of a list has 20 entries when limit is left out, and never more than 50; next leads to all of them.
//   - Each HTTP request is answered for the identity it brings and none else: nothing is kept from one request to the next.
//   - No message makes the process panic; a panic in an operation is logged and answered as an internal error.
package opsmcp
