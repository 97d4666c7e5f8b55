package panel

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/postbus/postbus/ops"
)

// LoginLink makes an address, relative to the panel's, that logs an account in once and within ten minutes. Where there is no such
// account it makes one that may do everything, with a password that nobody knows. It is for programs that tell it to whoever
// started them, as postbus dev does: it asks nobody who they are, and is in the audit log as "local:" and the account's name.
func LoginLink(ctx context.Context, registry *ops.Registry, account string) (string, error) {
	call := func(operation string, input any) (any, error) {
		raw, err := json.Marshal(input)
		if err != nil {
			return nil, err
		}
		answer, err := registry.Do(ctx, ops.Request{Operation: operation, Who: ops.Local(account), Face: ops.Panel, Input: raw})
		return answer.Output, err
	}
	_, err := call("accounts.create", ops.AccountSpec{Name: account, Password: rand.Text() + rand.Text(), Scopes: []ops.Access{ops.Admin}})
	if err != nil && ops.Explain(err).Code != ops.Conflict {
		return "", fmt.Errorf("make the account %q: %w", account, err)
	}
	made, err := call("accounts.login_link", ops.LoginLinkFor{Name: account})
	if err != nil {
		return "", fmt.Errorf("make a login link: %w", err)
	}
	link, ok := made.(ops.LoginLink)
	if !ok {
		return "", fmt.Errorf("accounts.login_link answers a %T", made)
	}
	return "login?link=" + link.Token, nil
}
