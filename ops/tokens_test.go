package ops

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var administrator = Identity{Name: "account:root", Scopes: []Access{Admin}}

// mustDo makes a call that has to succeed, dry run included.
func mustDo[T any](t testing.TB, r *Registry, name, input string) T {
	t.Helper()
	req := Request{Operation: name, Who: administrator, Face: HTTP, Input: json.RawMessage(input)}
	answer, err := r.Do(t.Context(), req)
	if err == nil && answer.DryRun != nil {
		req.Confirm = answer.DryRun.Confirm
		answer, err = r.Do(t.Context(), req)
	}
	out, ok := answer.Output.(T)
	if err != nil || !ok {
		t.Fatalf("%s %s: %T, %v", name, input, answer.Output, err)
	}
	return out
}

func wantCode(t testing.TB, r *Registry, name, input string, want Code) *Error {
	t.Helper()
	_, told := do(t, r, administrator, name, input)
	if told == nil || told.Code != want {
		t.Fatalf("%s %s: %v, want %s", name, input, told, want)
	}
	return told
}

// A token is answered once: neither the table, nor the audit log, nor the list has it.
func TestTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := mustDo[MintedToken](t, r, "tokens.create", `{"name":"ci","scopes":["read","record","read"],"owner_id":"ann","expires_in_seconds":60}`)
	if !regexp.MustCompile(`^pb_[a-z2-7]{8}_[0-9a-f]{64}$`).MatchString(made.Secret) || !strings.HasPrefix(made.Secret, made.Prefix+"_") {
		t.Errorf("token %q with prefix %q", made.Secret, made.Prefix)
	}
	if got := fmt.Sprint(made.Name, made.Scopes, made.OwnerID, made.CreatedBy, made.ExpiresAt.Sub(made.CreatedAt).Round(time.Second)); got != "ci[read record]annaccount:root1m0s" {
		t.Errorf("made %s", got)
	}
	page, err := json.Marshal(mustDo[TokenPage](t, r, "tokens.list", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	var stored string
	const everything = `select (select json_agg(row_to_json(t))::text from postbus.tokens t) || (select json_agg(row_to_json(a))::text from postbus.audit a)`
	if err := r.deps.Pool.QueryRow(t.Context(), everything).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	hash := hashToken(made.Secret)
	if secret := strings.TrimPrefix(made.Secret, made.Prefix+"_"); strings.Contains(stored+string(page), secret) {
		t.Error("the token is kept")
	}
	if !strings.Contains(stored, fmt.Sprintf("%x", hash)) || strings.Contains(string(page), "hash") || !strings.Contains(string(page), made.Prefix) {
		t.Errorf("the hash is not where it should be, and there only: %s", page)
	}
	if !strings.Contains(stored, `"operation":"tokens.create","owner_id":"ann"`) {
		t.Errorf("the act is not on record: %s", stored)
	}
}

// Tokens that cannot be meant are refused with the field.
func TestTokenSpecIsChecked(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	for input, field := range map[string]string{
		`{"name":"x","scopes":["admin"],"owner_id":"ann"}`:                                                     "scopes",
		`{"name":"x","scopes":["read","admin"],"owner_id":"ann"}`:                                              "scopes",
		`{"name":"x","scopes":["root"]}`:                                                                       "scopes[0]",
		`{"name":"x","scopes":[]}`:                                                                             "scopes",
		`{"name":"x","scopes":null}`:                                                                           "scopes",
		`{"name":"","scopes":["read"]}`:                                                                        "name",
		`{"name":"x","scopes":["read"],"expires_in_seconds":0}`:                                                "expires_in_seconds",
		`{"name":"x","scopes":["read"],"expires_in_seconds":1e300}`:                                            "expires_in_seconds",
		`{"name":"x","scopes":["read"],"expires_at":"2001-01-01T00:00:00Z"}`:                                   "expires_at",
		`{"name":"x","scopes":["read"],"expires_at":"soon"}`:                                                   "expires_at",
		`{"name":"x","scopes":["read"],"expires_at":"` + farOff + `","expires_in_seconds":5}`:                  "expires_at",
		`{"name":"x","scopes":["read"],"expires_in_seconds":5,"owner_id":"` + strings.Repeat("x", 1025) + `"}`: "owner_id",
	} {
		if told := wantCode(t, r, "tokens.create", input, Invalid); len(told.Fields) != 1 || told.Fields[0].Field != field {
			t.Errorf("%s: %v, want field %s", input, told, field)
		}
	}
	mustDo[MintedToken](t, r, "tokens.create", `{"name":"x","scopes":["admin"],"expires_at":"`+farOff+`"}`)
}

const farOff = "9999-12-31T23:59:59Z"

// Every token is on one page, newest first; a cursor that no page gave is refused.
func TestTokenPages(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	var want, got []string
	for i := range 5 {
		made := mustDo[MintedToken](t, r, "tokens.create", fmt.Sprintf(`{"name":"t%d","scopes":["read"]}`, i))
		want = append([]string{made.ID}, want...)
	}
	cursor := ""
	for pages := 0; pages == 0 || cursor != ""; pages++ {
		page := mustDo[TokenPage](t, r, "tokens.list", `{"limit":2,"cursor":"`+cursor+`"}`)
		for _, token := range page.Items {
			got = append(got, token.ID)
		}
		cursor = page.Next
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("pages have %v, want %v", got, want)
	}
	moment := time.Now().Format(time.RFC3339Nano)
	for _, cursor := range []string{
		"x", "?", sealCursor("accounts", "ann"), sealCursor("tokens", ""), sealCursor("tokens", moment),
		sealCursor("tokens", moment+"/x"), sealCursor("tokens", "now/"+want[0]),
	} {
		wantCode(t, r, "tokens.list", `{"cursor":"`+cursor+`"}`, Invalid)
	}
}

// A revocation says first what it would do, and is for good.
func TestRevokeAsksFirst(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := mustDo[MintedToken](t, r, "tokens.create", `{"name":"ci","scopes":["read"]}`)
	input := `{"id":"` + made.ID + `"}`
	answer, told := do(t, r, administrator, "tokens.revoke", input)
	if told != nil || answer.DryRun == nil || answer.DryRun.Count != 1 || !strings.Contains(answer.DryRun.Would, made.Prefix) {
		t.Fatalf("first call: %+v, %v", answer, told)
	}
	if page := mustDo[TokenPage](t, r, "tokens.list", `{}`); page.Items[0].RevokedAt != nil {
		t.Error("the dry run revoked it")
	}
	first := mustDo[Token](t, r, "tokens.revoke", input)
	second := mustDo[Token](t, r, "tokens.revoke", input)
	if first.RevokedAt == nil || second.RevokedAt == nil || !second.RevokedAt.Equal(*first.RevokedAt) {
		t.Errorf("revoked %v, then %v", first.RevokedAt, second.RevokedAt)
	}
	for _, id := range []string{"x", "00000000-0000-0000-0000-000000000000", "' or 1=1 --"} {
		wantCode(t, r, "tokens.revoke", `{"id":"`+id+`"}`, NotFound)
	}
}
