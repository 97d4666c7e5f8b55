package pg

import (
	"context"
	"fmt"
	"strings"
)

// MaxPayload is the longest payload of a NOTIFY in bytes, a limit of Postgres.
const MaxPayload = 7999

// maxChannel is the longest name of a channel in bytes: an identifier of Postgres.
const maxChannel = 63

// Notify sends one notification per payload, in one statement; with no payload it does nothing.
// Inside a transaction they leave with its commit, and equal ones are sent once. A payload of
// more than MaxPayload bytes is refused before anything is sent.
func Notify(ctx context.Context, db DBTX, channel string, payloads ...string) error {
	if len(payloads) == 0 {
		return nil
	}
	if err := checkChannel(channel); err != nil {
		return err
	}
	for _, payload := range payloads {
		if len(payload) > MaxPayload {
			return fmt.Errorf("pg: a notification on %s of %d bytes; the limit of Postgres is %d: send ids, in several payloads",
				channel, len(payload), MaxPayload)
		}
	}
	_, err := db.Exec(ctx, "select pg_notify($1, payload) from unnest($2::text[]) as payload", channel, payloads)
	if err != nil {
		return fmt.Errorf("pg: notify %s: %w", channel, err)
	}
	return nil
}

func checkChannel(channel string) error {
	if channel == "" || len(channel) > maxChannel || strings.ContainsRune(channel, 0) {
		return fmt.Errorf("pg: %q is no name of a channel: give it 1 to %d bytes", channel, maxChannel)
	}
	return nil
}
