package verify

import (
	"errors"
	"net/http"
)

var (
	// ErrMissingHeader says that one of the three headers is not there.
	ErrMissingHeader = errors.New("webhook header missing")
	// ErrTimestamp says that the timestamp is no number of seconds, or too far from now.
	ErrTimestamp = errors.New("webhook timestamp refused")
	// ErrSignature says that no signature fits.
	ErrSignature = errors.New("webhook signature refused")
	// ErrTooLarge says that the body is longer than the receiver reads.
	ErrTooLarge = errors.New("webhook body too large")
)

func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrTimestamp), errors.Is(err, ErrSignature):
		return http.StatusUnauthorized
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusBadRequest
	}
}
