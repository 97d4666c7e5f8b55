package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// shortest is a traceparent of version 00, which has no other length.
	shortest = 55
	// longest bounds what is looked at of later versions, which may have more fields.
	longest = 512
	// current is how texts of version 00 begin, the one that is written.
	current = "00-"
)

// carrier is the one header that is read and written. A tracestate is not kept: the column holds a traceparent.
type carrier struct{ traceparent string }

var _ propagation.TextMapCarrier = (*carrier)(nil)

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	if key == "traceparent" {
		return c.traceparent
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) {
	if key == "traceparent" {
		c.traceparent = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (*carrier) Keys() []string { return []string{"traceparent"} }

// parse answers the span context that a stored text names, an invalid one where it names none.
func parse(stored string) trace.SpanContext {
	if len(stored) < shortest || len(stored) > longest {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), &carrier{stored})
	return trace.SpanContextFromContext(ctx)
}

// format is the traceparent of a span, "" of an invalid one.
func format(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	var c carrier
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), &c)
	return c.traceparent
}

// Clean answers a stored text as it may be carried on: unchanged where it is a traceparent of version 00, as version 00 where it
// is one of a later version, and "" where it is none.
func Clean(stored string) string {
	sc := parse(stored)
	if sc.IsValid() && strings.HasPrefix(stored, current) {
		return stored
	}
	return format(sc)
}

// Of is the traceparent of the span in ctx, "" where there is none.
func Of(ctx context.Context) string { return format(trace.SpanContextFromContext(ctx)) }

// Join answers ctx in the trace of a traceparent; ctx itself where that is none.
func Join(ctx context.Context, stored string) context.Context {
	if sc := parse(stored); sc.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}

// Detach answers ctx without its span, for what outlives the span or is not done on its behalf alone.
func Detach(ctx context.Context) context.Context {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return trace.ContextWithSpan(ctx, nil)
}
