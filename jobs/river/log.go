package river

import (
	"context"
	"log/slog"
)

// quiet lets River's warnings and errors through, named as its own. That a job was cancelled is no news.
type quiet struct{ slog.Handler }

func quietLogger(log *slog.Logger) *slog.Logger {
	return slog.New(quiet{log.Handler()}).With("from", "river")
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	if record.Message == "jobexecutor.JobExecutor: job cancelled remotely" {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
