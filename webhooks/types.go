package webhooks

import (
	"context"
	"slices"

	"github.com/postbus/postbus/events"
)

// EventTypes answers the types that may leave, of all applications and of SQL, by name.
func (s *Service) EventTypes(ctx context.Context) ([]events.Type, error) {
	declared, err := s.bus.Types(ctx)
	if err != nil {
		return nil, err
	}
	declared = slices.DeleteFunc(declared, func(t events.DeclaredType) bool { return t.Exposure != events.Webhook })
	exposed := make([]events.Type, len(declared))
	for i, t := range declared {
		exposed[i] = t.Type
	}
	return exposed, nil
}
