package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
)

// openKey reads the key that seals the webhooks' secrets, or makes it. All processes of one database need the same.
func (a *app) openKey(ctx context.Context) error {
	id, err := a.notes.Identity(ctx)
	if err != nil {
		return err
	}
	if a.files, err = publishing.OpenFiles(filepath.Join(a.opts.data, "webhooks", id)); err != nil {
		return err
	}
	var keyID string
	if a.key, keyID, err = a.files.Key(); err != nil {
		return err
	}
	err = a.notes.AdoptWebhookKey(ctx, keyID)
	if errors.Is(err, note.ErrOtherKey) {
		return fmt.Errorf("%w, and %s has another: start it with the --data of the process that made it", err, a.opts.data)
	}
	return err
}

// openReceiver has the webhooks arrive somewhere: at a receiver that runs as a process of its own, or at --receiver-url.
// Where another process of this database has seen to it already, there is nothing to do.
func (a *app) openReceiver(ctx context.Context) error {
	owned, release, err := a.notes.OwnReceiver(ctx)
	if err != nil {
		return err
	}
	if !owned {
		if a.opts.receiverURL != "" {
			return errors.New("another notebook process looks after the receiver of this database: leave --receiver-url out, or give it to that one")
		}
		return nil
	}
	a.ours = true
	a.onClose(release)
	secret, fresh, err := a.files.Secret()
	if err != nil {
		return err
	}
	ensure := func(ctx context.Context, url string) error {
		err := a.publisher.Ensure(ctx, url, secret, fresh)
		fresh = fresh && err != nil
		return err
	}
	if url := a.opts.receiverURL; url != "" {
		fmt.Fprintf(a.out, "%s%s  (its secret is in %s)\n", receiverLine, url, a.files.SecretFile())
		return ensure(ctx, url)
	}
	return a.startReceiver(ctx, ensure)
}

func (a *app) startReceiver(ctx context.Context, ensure func(ctx context.Context, url string) error) error {
	e, err := a.publisher.Endpoint(ctx)
	if err != nil {
		return err
	}
	last := ""
	if e != nil {
		last = e.URL
	}
	args := []string{"--secret-file", a.files.SecretFile(), "--data", filepath.Dir(a.files.SecretFile())}
	if a.opts.once {
		args = append(args, "--quiet")
	}
	c := startChild(last, args, a.out, a.log)
	a.onClose(c.stop)
	return c.follow(ctx, ensure)
}
