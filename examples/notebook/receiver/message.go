package receiver

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/webhooks/verify"
)

// Message is a webhook that was kept.
type Message struct {
	// ID is webhook-id, the event's id.
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Subject    string    `json:"subject"`
	OccurredAt time.Time `json:"occurred_at"`
	// Change, Title and Version are those of the data, where it has them.
	Change  string `json:"change,omitempty"`
	Title   string `json:"title,omitempty"`
	Version int64  `json:"version,omitempty"`
	// At is when it was kept.
	At time.Time `json:"at"`
	// Repeats counts how often it came again, since this process began.
	Repeats int `json:"repeats,omitempty"`
}

// payload is the body of a webhook.
type payload struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Subject    string          `json:"subject"`
	OccurredAt time.Time       `json:"occurred_at"`
	Data       json.RawMessage `json:"data"`
}

// read makes a message of what was verified.
func read(m verify.Message, body []byte, now time.Time) (Message, error) {
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return Message{}, fmt.Errorf("its body is no webhook: %w", err)
	}
	if p.ID != m.ID {
		return Message{}, fmt.Errorf("its body has the id %q, its header %q", p.ID, m.ID)
	}
	kept := Message{ID: p.ID, Type: p.Type, Subject: p.Subject, OccurredAt: p.OccurredAt, At: now.UTC()}
	var data struct {
		Change, Title string
		Version       int64
	}
	if json.Unmarshal(p.Data, &data) == nil { // another type's data may be of any form
		kept.Change, kept.Title, kept.Version = data.Change, data.Title, data.Version
	}
	return kept, nil
}

// line says in one line what came. What the sender chose is quoted, lest it reach the terminal as it is.
func (m Message) line() string {
	said := fmt.Sprintf("received  %s %s %s", m.At.Format("15:04:05.000"), plain(m.Type), plain(m.Subject))
	if m.Change != "" {
		said += fmt.Sprintf(" %s %q, version %d", plain(m.Change), m.Title, m.Version)
	}
	said += ", verified"
	if m.Repeats > 0 {
		said += fmt.Sprintf(", repeat %d", m.Repeats)
	}
	return said
}

// plain quotes what would not stay one word.
func plain(s string) string {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}
