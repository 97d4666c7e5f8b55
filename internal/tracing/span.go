package tracing

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Attributes for which the semantic conventions have no name.
const (
	jobKind     = attribute.Key("postbus.job.kind")
	jobOutcome  = attribute.Key("postbus.job.outcome")
	attempt     = attribute.Key("postbus.attempt")
	maxAttempts = attribute.Key("postbus.job.max_attempts")
	jobsMade    = attribute.Key("postbus.fanout.jobs")
	endpointID  = attribute.Key("postbus.endpoint.id")
	deliveryID  = attribute.Key("postbus.delivery.id")
)

// Span is a span that was begun, or none: the zero Span does nothing. A fault is one word for why the work failed, "" where it
// did not.
type Span struct {
	span        trace.Span // nil where nothing is traced
	traceparent string
}

// Traceparent is what to store or to send so that what follows hangs below this span; where nothing is traced it is the one that
// stands; "" where there is none.
func (s Span) Traceparent() string { return s.traceparent }

// EndRecord ends a span of Record with the id of the event, "" where none was made.
func (s Span) EndRecord(eventID, fault string) {
	if s.span == nil {
		return
	}
	if eventID != "" {
		s.span.SetAttributes(semconv.MessagingMessageID(eventID))
	}
	s.end(fault)
}

// EndFanOut ends a span of FanOut with the number of jobs that the event has.
func (s Span) EndFanOut(jobs int, fault string) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(jobsMade.Int(jobs))
	s.end(fault)
}

// EndJob ends a span of Job with what became of the run.
func (s Span) EndJob(outcome, fault string) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(jobOutcome.String(outcome))
	s.end(fault)
}

// EndRequest ends a span of Request with the answer's status, 0 where none came.
func (s Span) EndRequest(status int, fault string) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	s.end(fault)
}

func (s Span) end(fault string) {
	if fault != "" {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(fault))
		s.span.SetStatus(codes.Error, fault)
	}
	s.span.End()
}
