// Package tracing joins what the bus does about an event to the trace in which it was recorded.
//
// A trace travels through the database as a W3C traceparent (https://www.w3.org/TR/trace-context/): the event's column, the
// job's metadata. Anybody who may write SQL can store any text there.
//
// What it promises:
//
//   - A nil [Tracer] makes no span and allocates nothing; the traceparent that stands is carried on as it is.
//   - What is no traceparent is treated as none: it is neither followed, nor carried on, nor sent.
//   - Only [Tracer.Record] begins a trace of its own. Everything else follows one or makes no span.
//   - Attributes hold names, ids and numbers: no data, no URL, no text of an error, all of which may hold secrets.
package tracing
