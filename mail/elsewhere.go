package mail

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
)

const (
	// serverGone is for how long a process without a server leaves mails to one that has one, after it was seen last.
	serverGone = 24 * time.Hour
	// leaveFor is when such a mail is looked at again, by whoever comes first: beyond a few seconds a job is parked, and any process
	// brings it back, not the one that parked it.
	leaveFor = 10 * time.Second
)

// present says that a process that can send is here. It is said at the start and by the sweep.
func (s *Service) present(ctx context.Context) error {
	if s.sender == nil {
		return nil
	}
	if err := queries(s.pool).NoteServer(ctx); err != nil {
		return fmt.Errorf("mail: say that there is a server: %w", err)
	}
	return nil
}

// elsewhere answers what a process without a server does with a mail: it leaves it to one that has one, where one was seen lately. To
// give it up would lose what the other could send.
func (s *Service) elsewhere(ctx context.Context, row mailsql.PostbusMail) error {
	seen, err := queries(s.pool).ServerSeen(ctx, mailsql.ServerSeenParams{WithinSeconds: serverGone.Seconds()})
	if err != nil {
		return fmt.Errorf("look for a process with a mail server: %w", err)
	}
	if seen {
		s.unsent.Do(func() {
			s.cfg.Log.WarnContext(ctx, "mails are left to processes that have a mail server: this one has none")
		})
		return jobs.Snooze(leaveFor)
	}
	s.unsent.Do(func() { s.cfg.Log.WarnContext(ctx, "mails are not sent: "+noServer) })
	return s.giveUp(ctx, row, noServer)
}
