package tracing

import (
	"context"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// name is the instrumentation's, and the messaging system of its spans.
const (
	name   = "github.com/postbus/postbus"
	system = "postbus"
)

// Tracer makes the spans. A nil one makes none.
type Tracer struct{ tracer trace.Tracer }

// New makes a Tracer; nil where there is no provider.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer(name, trace.WithSchemaURL(semconv.SchemaURL))}
}

// Record begins the span of recording an event, below the one in ctx.
func (t *Tracer) Record(ctx context.Context, eventType string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{traceparent: Of(ctx)}
	}
	ctx, span := t.tracer.Start(ctx, "postbus.record", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		semconv.MessagingSystemKey.String(system), semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("record"),
		semconv.MessagingDestinationName(eventType),
	))
	return ctx, Span{span: span, traceparent: format(span.SpanContext())}
}

// FanOut begins the span of turning an event into its jobs, below the trace stored with the event.
func (t *Tracer) FanOut(ctx context.Context, stored, eventType, eventID string) Span {
	if t == nil {
		return Span{traceparent: Clean(stored)}
	}
	parent := parse(stored)
	if !parent.IsValid() {
		return Span{}
	}
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), "postbus.fanout",
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			semconv.MessagingSystemKey.String(system), semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("fanout"),
			semconv.MessagingDestinationName(eventType), semconv.MessagingMessageID(eventID),
		))
	return Span{span: span, traceparent: format(span.SpanContext())}
}

// Run is one run of a job.
type Run struct {
	ID                   string
	Kind, Queue          string
	Attempt, MaxAttempts int
}

// Job begins the span of a job's run, below the trace stored with the job. What is done with ctx is below the span, or in the
// stored trace where nothing is traced.
func (t *Tracer) Job(ctx context.Context, stored string, run Run) (context.Context, Span) {
	parent := parse(stored)
	if !parent.IsValid() {
		return ctx, Span{}
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, "job "+run.Kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		semconv.MessagingSystemKey.String(system), semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("job"),
		semconv.MessagingDestinationName(run.Queue), semconv.MessagingMessageID(run.ID),
		jobKind.String(run.Kind), attempt.Int(run.Attempt), maxAttempts.Int(run.MaxAttempts),
	))
	return ctx, Span{span: span, traceparent: format(span.SpanContext())}
}

// Request is one attempt to send a webhook.
type Request struct {
	EventID, EventType string
	EndpointID         string
	DeliveryID         int64
	Attempt            int // from 1
}

// Request begins the span of a webhook's request, below the trace stored with the event.
func (t *Tracer) Request(ctx context.Context, stored string, r Request) (context.Context, Span) {
	if t == nil {
		return ctx, Span{traceparent: Clean(stored)}
	}
	parent := parse(stored)
	if !parent.IsValid() {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), "postbus.webhook",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			semconv.MessagingSystemKey.String(system), semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("webhook"),
			semconv.MessagingDestinationName(r.EventType), semconv.MessagingMessageID(r.EventID), semconv.HTTPRequestMethodPost,
			endpointID.String(r.EndpointID), deliveryID.String(strconv.FormatInt(r.DeliveryID, 10)), attempt.Int(r.Attempt),
		))
	return ctx, Span{span: span, traceparent: format(span.SpanContext())}
}
