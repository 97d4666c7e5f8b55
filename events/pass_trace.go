package events

import (
	"context"
	"slices"

	"github.com/postbus/postbus/internal/tracing"
)

// fanSpan is the span of one event's fan-out. It ends when it is known what became of the transaction.
type fanSpan struct {
	tracing.Span
	jobs int
}

// traced begins a span for each event that carries a trace, and answers the events with the trace that their jobs are to carry.
// What is no traceparent, SQL callers can store any text, is carried no further.
func (f *fanner) traced(ctx context.Context, events []claimedEvent) []claimedEvent {
	tracer := f.relay.cfg.Tracing
	if tracer == nil {
		for i := range events {
			events[i].Trace = tracing.Clean(events[i].Trace)
		}
		return events
	}
	traced := slices.Clone(events) // where they are tried again, their own trace is the parent again
	for i, e := range events {
		span := tracer.FanOut(ctx, e.Trace, e.Type, e.ID)
		traced[i].Trace = span.Traceparent()
		f.spans = append(f.spans, fanSpan{Span: span})
	}
	return traced
}

// counted notes how many jobs an event has that is to be marked.
func (f *fanner) counted(jobs int) {
	if at := len(f.marked) - 1; at < len(f.spans) {
		f.spans[at].jobs = jobs
	}
}

// endSpans ends the spans from the given one on.
func (f *fanner) endSpans(from int, err error) {
	if from >= len(f.spans) {
		return
	}
	fault := ""
	if err != nil {
		fault = "failed"
	}
	for _, s := range f.spans[from:] {
		s.EndFanOut(s.jobs, fault)
	}
	f.spans = f.spans[:from]
}
