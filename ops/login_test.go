package ops

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/ops/internal/password"
)

// A name and its password say who calls; everything else is refused with the same text.
func TestLoginSaysWho(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := newAccount(t, r, "ann", `["act"]`, "acme")
	a, clock := authenticator(r.deps.Pool)
	login := func(name, pass string) error {
		clock.pass(failureWindow)
		who, err := a.Login(t.Context(), name, pass, "10.0.0.1:4000")
		if err == nil && fmt.Sprint(who) != "{account:ann [act] acme}" {
			t.Errorf("%s is %v", name, who)
		}
		return err
	}
	if err := login("ann", phrase); err != nil {
		t.Fatal(err)
	}
	if page := mustDo[AccountPage](t, r, "accounts.list", `{}`); page.Items[0].LastLoginAt == nil {
		t.Error("the login is not on record")
	}
	texts := map[string]bool{}
	for _, c := range [][2]string{{"ann", "x"}, {"ann", ""}, {"ann", phrase + strings.Repeat("x", 300)}, {"bob", phrase}, {"", ""}, {"a\x00", phrase}} {
		texts[turnedAway(t, login(c[0], c[1]), Unauthenticated).Error()] = true
	}
	mustDo[Account](t, r, "accounts.disable", `{"id":"`+made.ID+`"}`)
	texts[turnedAway(t, login("ann", phrase), Unauthenticated).Error()] = true
	if len(texts) != 1 {
		t.Errorf("refusals differ: %v", texts)
	}
	mustDo[Account](t, r, "accounts.enable", `{"id":"`+made.ID+`"}`)
	if err := login("ann", phrase); err != nil {
		t.Errorf("enabled again: %v", err)
	}
	mustDo[Account](t, r, "accounts.set_password", `{"id":"`+made.ID+`","password":"another good one"}`)
	turnedAway(t, login("ann", phrase), Unauthenticated)
	if err := login("ann", "another good one"); err != nil {
		t.Errorf("with the new password: %v", err)
	}
}

// A login makes the hash again where its parameters are no longer ours.
func TestLoginUpgradesTheHash(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	newAccount(t, r, "ann", `["act"]`, "")
	exec(t, r.deps.Pool, "update postbus.accounts set password = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'")
	a, _ := authenticator(r.deps.Pool)
	stored := func() (hash string) {
		if err := r.deps.Pool.QueryRow(t.Context(), "select password from postbus.accounts").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	if _, err := a.Login(t.Context(), "ann", "wrong", ""); err == nil || !password.Outdated(stored()) {
		t.Errorf("a failed login: %v, %s", err, stored())
	}
	for range 2 {
		if _, err := a.Login(t.Context(), "ann", "password", ""); err != nil || password.Outdated(stored()) {
			t.Errorf("login: %v, %s", err, stored())
		}
	}
	exec(t, r.deps.Pool, "update postbus.accounts set password = 'unreadable'")
	_, err := a.Login(t.Context(), "ann", "password", "")
	turnedAway(t, err, Internal)
}

// Five failures within a minute stop a name and stop an address, also when they come at once, and say how long to wait.
func TestLoginIsRateLimited(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	newAccount(t, r, "ann", `["read"]`, "")
	newAccount(t, r, "bob", `["read"]`, "")
	a, clock := authenticator(r.deps.Pool)
	codes := make(chan Code, 12)
	var all sync.WaitGroup
	for i := range cap(codes) {
		all.Go(func() {
			_, err := a.Login(t.Context(), "ann", "wrong", fmt.Sprintf("10.0.0.%d:1", i))
			codes <- Explain(err).Code
		})
	}
	all.Wait()
	seen := map[Code]int{}
	for range cap(codes) {
		seen[<-codes]++
	}
	if seen[Unauthenticated] != maxFailures || seen[RateLimited] != cap(codes)-maxFailures {
		t.Errorf("at once: %v", seen)
	}
	clock.pass(18 * time.Second)
	_, err := a.Login(t.Context(), "ann", phrase, "10.1.0.1:1")
	if told := turnedAway(t, err, RateLimited); !strings.Contains(told.Message, "wait 42 seconds") {
		t.Error(told)
	}
	if _, err := a.Login(t.Context(), "bob", phrase, "10.1.0.1:1"); err != nil {
		t.Errorf("another name: %v", err)
	}
	clock.pass(42 * time.Second)
	for range maxFailures + 1 { // a login that succeeds is no failure
		if _, err := a.Login(t.Context(), "ann", phrase, "10.1.0.1:1"); err != nil {
			t.Fatalf("a minute later: %v", err)
		}
	}
}

// An address is one whatever the port, the form and the rest of an IPv6 network; counts are bounded.
func TestFailuresAreCountedByAddress(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1", "[::ffff:10.0.0.1]:3"}, {"[2001:db8::1]:1", "2001:db8::2", "[2001:db8::3%eth0]:1"},
	} {
		l, now := newLimiter(), time.Now()
		for i := range maxFailures {
			if _, wait := l.begin(now, failureKeys(fmt.Sprint(i), same[i%len(same)])); wait > 0 {
				t.Fatalf("%v: failure %d waits %v", same, i, wait)
			}
		}
		for _, addr := range same {
			if _, wait := l.begin(now, failureKeys("last", addr)); wait != failureWindow {
				t.Errorf("%s: wait %v", addr, wait)
			}
		}
		if _, wait := l.begin(now, failureKeys("last", "10.0.0.2:1")); wait > 0 {
			t.Errorf("another address waits %v", wait)
		}
	}
	l, now := newLimiter(), time.Now()
	l.max = 4
	for i := range 20 {
		l.begin(now.Add(time.Duration(i)*time.Millisecond), failureKeys(fmt.Sprint(i), "pipe "+strings.Repeat("x", 200)+fmt.Sprint(i)))
		if len(l.failed) > 4 {
			t.Fatalf("%d counts", len(l.failed))
		}
	}
}

// A fresh database hands out one admin token, to one of those who boot at once, and never again.
func TestBootstrapOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	tokens := make(chan string, 4)
	var all sync.WaitGroup
	for range cap(tokens) {
		all.Go(func() {
			token, err := Bootstrap(t.Context(), pool)
			if err != nil {
				t.Error(err)
			}
			tokens <- token
		})
	}
	all.Wait()
	made := ""
	for range cap(tokens) {
		if token := <-tokens; token != "" && made != "" {
			t.Error("two were made")
		} else if token != "" {
			made = token
		}
	}
	a, _ := authenticator(pool)
	if who, err := a.Token(t.Context(), made); err != nil || !who.May(Admin) || who.Owner != "" {
		t.Errorf("%v, %v", who, err)
	}
	exec(t, pool, "update postbus.tokens set revoked_at = clock_timestamp()")
	if token, err := Bootstrap(t.Context(), pool); token != "" || err != nil {
		t.Errorf("after its revocation: %q, %v", token, err)
	}
	var lines int
	if err := pool.QueryRow(t.Context(), "select count(*) from postbus.audit where who = 'bootstrap' and operation = 'tokens.create'").Scan(&lines); err != nil || lines != 1 {
		t.Errorf("%d lines in the log, %v", lines, err)
	}
}
