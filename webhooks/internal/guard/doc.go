// Package guard sends one attempt of a webhook and is the only way that webhooks leave the process. The URLs come from
// strangers, and so do the answers: neither may reach or hurt what is inside.
//
// What it promises:
//
//   - A request goes to a public address or to one that [Config.Allow] names, and nowhere else. Every dial looks the
//     name up once, judges the addresses of that answer and dials one of them by its number: what was judged is what is
//     dialled, however fast a name server changes its mind. [Client.CheckURL] refuses on entry what needs no lookup.
//   - One Post is one request. A redirect is an answer like any other and is not followed. Nothing is sent twice: a
//     connection that turns out dead is replaced only where not one byte of the request was written to it.
//   - An attempt ends within [Config.Timeout], lookup, TLS, headers and body included, whatever the receiver does, and
//     reads at most 64 KiB of headers and 64 KiB of body. What is longer is not drained: the connection is closed.
//   - Bytes are kept as they came: nothing is decompressed. There are no cookies.
//   - The environment decides nothing: HTTP_PROXY and its like are not read.
//   - The text of an error is one line for an operator. It names hosts and addresses, never a path, a query or the value
//     of a header.
//
// It speaks HTTP/1.1 only, on purpose. Over HTTP/2 all attempts to a host share one connection, so that one that hangs
// holds the others back, and the receiver may ask for a request to be sent again.
//
// What it cannot see: with [Config.Proxy] the proxy looks names up, so that only literal addresses and the forms of names
// are judged here and the proxy has to refuse the rest. A network that translates a prefix of its own (NAT64 other than
// 64:ff9b::/96) to IPv4 looks like any public address. Whoever runs the name server of a name in Allow decides where it
// leads.
package guard
