package verify

import (
	"fmt"
	"io"
	"net/http"
)

const defaultMaxBody = 1 << 20

// Request reads the body of r, at most maxBody bytes (1 MiB where maxBody is 0 or less), and checks the message. A longer
// body is [ErrTooLarge]. The body is read only after the headers were found complete and recent.
func (v *Verifier) Request(r *http.Request, maxBody int64) (Message, []byte, error) {
	if maxBody <= 0 {
		maxBody = defaultMaxBody
	}
	c, err := v.read(r.Header)
	if err != nil {
		return Message{}, nil, err
	}
	body, err := readBody(r, maxBody)
	if err != nil {
		return Message{}, nil, err
	}
	m, err := v.check(c, body)
	if err != nil {
		return Message{}, nil, err
	}
	return m, body, nil
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	tooLarge := fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the body of a webhook: %w", err)
	}
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return nil, tooLarge
	}
	return body, nil
}

// Handler checks each request as [Verifier.Request] does and calls next with what was accepted. It answers the others
// itself, with the reason: 400 without a header, 401 for a timestamp or signature, 413 for a body over maxBody.
// next answers 2xx once the message is kept; anything else asks the sender to try again.
func (v *Verifier) Handler(
	maxBody int64, next func(w http.ResponseWriter, r *http.Request, m Message, body []byte),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, body, err := v.Request(r, maxBody)
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		next(w, r, m, body)
	})
}
