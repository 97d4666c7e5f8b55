package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/pg"
)

const (
	maxOwnerBytes       = 1 << 10
	maxDescriptionBytes = 1 << 10
	maxReasonBytes      = 1 << 10
	maxTypes            = 100
	maxGlobBytes        = 122 // a name of 120 bytes and ".*"
	maxInFlight         = 32
	maxRate             = 1000
	maxPerOwner         = 1000
)

// EndpointSpec is what an endpoint is made of.
type EndpointSpec struct {
	// OwnerID is whose events are sent; at most 1 KiB. At most 1,000 endpoints an owner.
	OwnerID string
	// URL is http or https, at most 2,048 bytes, and names no user and no address inside; see Config.Allow.
	URL string
	// Description is for people, at most 1 KiB.
	Description string
	// Types are globs over event types, 1 to 100: a type's name, a dotted prefix and ".*", or "*".
	Types []string
	// Scope narrows the events further. Defaults to none.
	Scope Scope
	// Headers are sent with every request; at most 20, with values of at most 2 KiB. Names that the request needs for itself
	// are refused.
	Headers map[string]string
	// MaxInFlight is how many requests may be under way at a time. Defaults to 1; range 1 to 32.
	MaxInFlight int
	// RatePerSecond bounds the requests a second. Defaults to 0, no bound; at most 1000.
	RatePerSecond int
	// Ordered sends the deliveries of a subject one after the other.
	Ordered bool
	// Secret is a signing secret that the receiver has already, "whsec_…". Defaults to a new one.
	Secret string
	// Asymmetric signs with an Ed25519 key (v1a) beside the secret (v1).
	Asymmetric bool
}

// settings are what an endpoint's row holds, checked. scope is the scope's JSON.
type settings struct {
	EndpointSpec
	scope json.RawMessage
}

func (s *Service) check(ctx context.Context, db pg.DBTX, spec EndpointSpec) (settings, error) {
	if spec.MaxInFlight == 0 {
		spec.MaxInFlight = 1
	}
	if err := s.checkURL(spec.URL); err != nil {
		return settings{}, err
	}
	if err := checkTypes(ctx, db, spec.Types); err != nil {
		return settings{}, err
	}
	return checkRest(spec)
}

// checkRest checks everything but the URL and the types, which depend on more than themselves.
func checkRest(spec EndpointSpec) (settings, error) {
	if spec.OwnerID == "" || len(spec.OwnerID) > maxOwnerBytes || !isText(spec.OwnerID) {
		return settings{}, fmt.Errorf("%w: owner_id has %d bytes; use 1 to %d bytes of UTF-8 without NUL",
			ErrInvalid, len(spec.OwnerID), maxOwnerBytes)
	}
	if len(spec.Description) > maxDescriptionBytes || !isText(spec.Description) {
		return settings{}, fmt.Errorf("%w: description has %d bytes; use at most %d bytes of UTF-8 without NUL",
			ErrInvalid, len(spec.Description), maxDescriptionBytes)
	}
	if spec.MaxInFlight < 1 || spec.MaxInFlight > maxInFlight {
		return settings{}, fmt.Errorf("%w: max_in_flight is %d; use 1 to %d", ErrInvalid, spec.MaxInFlight, maxInFlight)
	}
	if spec.RatePerSecond < 0 || spec.RatePerSecond > maxRate {
		return settings{}, fmt.Errorf("%w: rate_per_second is %d; use 1 to %d, or 0 for no bound", ErrInvalid, spec.RatePerSecond, maxRate)
	}
	if err := checkHeaders(spec.Headers); err != nil {
		return settings{}, err
	}
	scope, raw, err := spec.Scope.normal()
	spec.Scope = scope
	return settings{EndpointSpec: spec, scope: raw}, err
}

func (s *Service) checkURL(url string) error {
	if !isText(url) {
		return fmt.Errorf("%w: url is no UTF-8 without NUL", ErrInvalid)
	}
	if err := s.client.CheckURL(url); err != nil {
		return fmt.Errorf("%w: url: %w", ErrInvalid, err)
	}
	return nil
}

// checkTypes refuses what is no glob, and an internal type by its name: an endpoint would wait for it for ever. A name that
// nobody has declared yet is fine.
func checkTypes(ctx context.Context, db pg.DBTX, globs []string) error {
	if len(globs) == 0 || len(globs) > maxTypes {
		return fmt.Errorf("%w: types has %d globs; use 1 to %d, \"*\" for every exposed type", ErrInvalid, len(globs), maxTypes)
	}
	for i, glob := range globs {
		if len(glob) > maxGlobBytes {
			return fmt.Errorf("%w: types[%d] has %d bytes; use at most %d", ErrInvalid, i, len(glob), maxGlobBytes)
		}
		if err := events.CheckGlob(glob); err != nil {
			return fmt.Errorf("%w: types[%d]: %w", ErrInvalid, i, err)
		}
	}
	internal, err := queries(db).InternalAmong(ctx, webhooksql.InternalAmongParams{Names: globs})
	if err != nil {
		return fmt.Errorf("read declared event types: %w", err)
	}
	if len(internal) > 0 {
		return fmt.Errorf("%w: type %s is internal: it never leaves as a webhook; declare it with the exposure %q, or leave it out",
			ErrInvalid, strings.Join(internal, ", "), events.Webhook)
	}
	return nil
}
