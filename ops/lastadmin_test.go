package ops

import (
	"encoding/json"
	"strings"
	"testing"
)

// Promise: the last one who may do everything can neither be revoked nor disabled, not by its dry run and not after it either.
func TestLastAdminStays(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	token := mustDo[MintedToken](t, r, "tokens.create", `{"name":"a","scopes":["admin"]}`)
	mustDo[MintedToken](t, r, "tokens.create", `{"name":"actor","scopes":["act"]}`)
	if told := wantCode(t, r, "tokens.revoke", byID(token.ID), Conflict); !strings.Contains(told.Message, "make another") {
		t.Errorf("no way out: %v", told)
	}
	account := mustDo[Account](t, r, "accounts.create", `{"name":"root","password":"correct horse battery","scopes":["admin"]}`)
	dry, told := do(t, r, administrator, "tokens.revoke", byID(token.ID))
	if told != nil {
		t.Fatal(told)
	}
	mustDo[Account](t, r, "accounts.disable", byID(account.ID))
	_, err := r.Do(t.Context(), Request{
		Operation: "tokens.revoke", Who: administrator, Face: HTTP, Input: json.RawMessage(byID(token.ID)), Confirm: dry.DryRun.Confirm,
	})
	if told := Explain(err); told == nil || told.Code != Conflict {
		t.Errorf("the last admin was revoked by a confirmation of before: %v", err)
	}
	mustDo[Account](t, r, "accounts.enable", byID(account.ID))
	mustDo[Token](t, r, "tokens.revoke", byID(token.ID))
	wantCode(t, r, "accounts.disable", byID(account.ID), Conflict)
}

// An operation that only reads writes no audit line, whoever may call it.
func TestListsOfCredentialsAreNoActs(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	mustDo[TokenPage](t, r, "tokens.list", `{}`)
	mustDo[AccountPage](t, r, "accounts.list", `{}`)
	if lines := answerOf[Listed[AuditLine]](t, r, operator, "audit.list", `{}`).Items; len(lines) != 0 {
		t.Errorf("audit lines: %+v", lines)
	}
	refused(t, r, operator, "tokens.list", `{}`, Forbidden)
}

// A failed act on one owner's thing is a line of that owner's, whoever called.
func TestFailedActIsItsOwners(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id := newEndpoint(t, r, "ann")
	refused(t, r, operator, "webhooks.update", `{"id":"`+id+`","url":"ftp://127.0.0.1/"}`, Invalid)
	lines := answerOf[Listed[AuditLine]](t, r, boundTo("ann"), "audit.list", `{"operation":"webhooks.update"}`).Items
	if len(lines) != 1 || lines[0].Result != string(Invalid) || lines[0].OwnerID != "ann" {
		t.Errorf("ann's lines: %+v", lines)
	}
	mixed := &target{}
	for _, owner := range []string{"ann", "ann", "bob", "ann"} {
		mixed.is(owner)
	}
	if mixed.AuditOwner() != "" {
		t.Errorf("things of several owners are %q's", mixed.AuditOwner())
	}
}
