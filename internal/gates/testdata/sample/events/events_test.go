package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river" // want river

	_ "github.com/postbus/postbus" // want arrows
	"github.com/postbus/postbus/events"
	_ "github.com/postbus/postbus/jobs/river"
)

func TestAnything(t *testing.T) {
	go func() { _, _ = (&pgx.Conn{}).Begin(context.Background()) }()
	_, _ = (&pgx.Conn{}).Exec(context.Background(), "delete from postbus.events")
	time.Sleep(time.Second) // want clock
	_ = time.NewTicker      // want clock
	_, _ = river.Client{}, events.Begin
}
