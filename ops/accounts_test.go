package ops

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const phrase = "correct horse battery"

func newAccount(t testing.TB, r *Registry, name, scopes, owner string) Account {
	t.Helper()
	return mustDo[Account](t, r, "accounts.create", fmt.Sprintf(`{"name":%q,"password":%q,"scopes":%s,"owner_id":%q}`, name, phrase, scopes, owner))
}

// Neither a password nor its hash is answered or in the audit log.
func TestPasswordsAreNotKept(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := newAccount(t, r, "ann", `["act"]`, "acme")
	changed := mustDo[Account](t, r, "accounts.set_password", `{"id":"`+made.ID+`","password":"`+phrase+`, again"}`)
	answers, err := json.Marshal([]any{made, changed, mustDo[AccountPage](t, r, "accounts.list", `{}`)})
	if err != nil {
		t.Fatal(err)
	}
	var password, log string
	const stored = `select (select password from postbus.accounts), (select json_agg(row_to_json(a))::text from postbus.audit a)`
	if err := r.deps.Pool.QueryRow(t.Context(), stored).Scan(&password, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(password, "$argon2id$") {
		t.Errorf("stored %q", password)
	}
	if all := string(answers) + log; strings.Contains(all, phrase) || strings.Contains(all, "argon2") {
		t.Errorf("a password is in %s", all)
	}
	if !strings.Contains(log, `"operation":"accounts.set_password","owner_id":"acme"`) {
		t.Errorf("the act is not on record: %s", log)
	}
}

// Accounts that cannot be meant are refused, a name is given once.
func TestAccountSpecIsChecked(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := newAccount(t, r, "ann", `["read"]`, "")
	wantCode(t, r, "accounts.create", `{"name":"ann","password":"`+phrase+`","scopes":["read"]}`, Conflict)
	for _, input := range []string{
		`{"name":"bob","password":"elevenchars","scopes":["read"]}`,
		`{"name":"bob","password":"` + strings.Repeat("ä", 101) + `","scopes":["read"]}`,
		`{"name":"bob","password":"` + phrase + `","scopes":["admin"],"owner_id":"acme"}`,
		`{"name":"bob","password":"` + phrase + `","scopes":[]}`,
		`{"name":"Bob","password":"` + phrase + `","scopes":["read"]}`,
		`{"name":"bob\n","password":"` + phrase + `","scopes":["read"]}`,
		`{"name":"` + strings.Repeat("b", 65) + `","password":"` + phrase + `","scopes":["read"]}`,
	} {
		wantCode(t, r, "accounts.create", input, Invalid)
	}
	wantCode(t, r, "accounts.set_password", `{"id":"`+made.ID+`","password":"short"}`, Invalid)
	wantCode(t, r, "accounts.set_password", `{"id":"`+made.ID+`","password":"`+strings.Repeat("ä", 101)+`"}`, Invalid)
	for _, id := range []string{"x", "00000000-0000-0000-0000-000000000000"} {
		wantCode(t, r, "accounts.set_password", `{"id":"`+id+`","password":"`+phrase+`"}`, NotFound)
		wantCode(t, r, "accounts.disable", `{"id":"`+id+`"}`, NotFound)
		wantCode(t, r, "accounts.enable", `{"id":"`+id+`"}`, NotFound)
	}
}

// Every account is on one page, by name; a cursor that no page gave is refused.
func TestAccountPages(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	for _, name := range []string{"cid", "ann", "bob"} {
		newAccount(t, r, name, `["read"]`, "")
	}
	var got []string
	cursor := ""
	for pages := 0; pages == 0 || cursor != ""; pages++ {
		page := mustDo[AccountPage](t, r, "accounts.list", `{"limit":1,"cursor":"`+cursor+`"}`)
		for _, account := range page.Items {
			got = append(got, account.Name)
		}
		cursor = page.Next
	}
	if fmt.Sprint(got) != "[ann bob cid]" {
		t.Errorf("pages have %v", got)
	}
	for _, cursor := range []string{"?", sealCursor("tokens", "ann"), sealCursor("accounts", "a\x00"), sealCursor("accounts", "\xff")} {
		wantCode(t, r, "accounts.list", `{"cursor":"`+cursor+`"}`, Invalid)
	}
}
