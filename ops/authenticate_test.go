package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func authenticator(pool *pgxpool.Pool) (*Authenticator, *clock) {
	c := &clock{at: time.Now()}
	a := NewAuthenticator(pool, testdb.Log())
	a.now = c.now
	return a, c
}

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func turnedAway(t testing.TB, err error, want Code) *Error {
	t.Helper()
	var told *Error
	if !errors.As(err, &told) || told.Code != want {
		t.Fatalf("%v, want %s", err, want)
	}
	return told
}

// A good token says who calls; unknown, malformed, expired and revoked ones are refused with the same text.
func TestTokenSaysWho(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	pool := r.deps.Pool
	made := mustDo[MintedToken](t, r, "tokens.create", `{"name":"ci","scopes":["act","record"],"owner_id":"ann"}`)
	a, _ := authenticator(pool)
	who, err := a.Token(t.Context(), made.Secret)
	if got := fmt.Sprint(who.Name, who.Scopes, who.Owner, err); got != "token:"+made.Prefix+"[act record]ann<nil>" {
		t.Errorf("token is %s", got)
	}
	texts := map[string]bool{}
	refuse := func(bearer string) {
		t.Helper()
		fresh, _ := authenticator(pool)
		_, err := fresh.Token(t.Context(), bearer)
		texts[turnedAway(t, err, Unauthenticated).Error()] = true
	}
	_, unknown := newToken()
	for _, bearer := range []string{"", "x", unknown, made.Prefix, made.Secret + "0", made.Secret[:len(made.Secret)-1] + "g", strings.ToUpper(made.Secret), "pb_\x00"} {
		refuse(bearer)
	}
	exec(t, pool, "update postbus.tokens set expires_at = clock_timestamp()")
	refuse(made.Secret)
	exec(t, pool, "update postbus.tokens set expires_at = null, revoked_at = clock_timestamp()")
	refuse(made.Secret)
	if len(texts) != 1 {
		t.Errorf("refusals differ: %v", texts)
	}
}

// An answer is believed for ten seconds and no longer: within that a revocation takes hold. An expiry ends it before.
func TestTokenIsBelievedForTenSeconds(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := mustDo[MintedToken](t, r, "tokens.create", `{"name":"ci","scopes":["read"]}`)
	brief := mustDo[MintedToken](t, r, "tokens.create", `{"name":"brief","scopes":["read"],"expires_in_seconds":5}`)
	a, clock := authenticator(r.deps.Pool)
	for _, token := range []string{made.Secret, brief.Secret} {
		if _, err := a.Token(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	mustDo[Token](t, r, "tokens.revoke", `{"id":"`+made.ID+`"}`)
	exec(t, r.deps.Pool, "update postbus.tokens set expires_at = clock_timestamp() where name = 'brief'")
	clock.pass(5 * time.Second)
	_, err := a.Token(t.Context(), brief.Secret)
	turnedAway(t, err, Unauthenticated)
	clock.pass(5*time.Second - time.Millisecond)
	if _, err := a.Token(t.Context(), made.Secret); err != nil {
		t.Errorf("an answer was not kept: %v", err)
	}
	clock.pass(time.Millisecond)
	_, err = a.Token(t.Context(), made.Secret)
	turnedAway(t, err, Unauthenticated)
}

// The last use is written at most once a minute.
func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	made := mustDo[MintedToken](t, r, "tokens.create", `{"name":"ci","scopes":["read"]}`)
	use := func() (used time.Time) {
		t.Helper()
		a, _ := authenticator(r.deps.Pool)
		if _, err := a.Token(t.Context(), made.Secret); err != nil {
			t.Fatal(err)
		}
		if err := r.deps.Pool.QueryRow(t.Context(), "select last_used_at from postbus.tokens").Scan(&used); err != nil {
			t.Fatal(err)
		}
		return used
	}
	first := use()
	if again := use(); !again.Equal(first) {
		t.Errorf("used at %v, then written again at %v", first, again)
	}
	exec(t, r.deps.Pool, "update postbus.tokens set last_used_at = last_used_at - interval '1 minute'")
	if later := use(); !later.After(first) {
		t.Errorf("a use a minute later is not on record: %v", later)
	}
}

// The cache holds no more than it may.
func TestTokenCacheIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a := NewAuthenticator(nil, nil)
	a.tokens.max = 3
	for i := range 10 {
		a.tokens.put(hashToken(fmt.Sprint(i)), Identity{}, now, now.Add(time.Second))
	}
	if len(a.tokens.entries) != 3 {
		t.Errorf("%d entries", len(a.tokens.entries))
	}
	a.tokens.put(hashToken("late"), Identity{Name: "late"}, now.Add(time.Minute), now.Add(time.Hour))
	if who, ok := a.tokens.get(hashToken("late"), now.Add(time.Minute)); !ok || who.Name != "late" || len(a.tokens.entries) != 1 {
		t.Errorf("%d entries with %v", len(a.tokens.entries), who)
	}
}

// A database that does not answer is no refusal of the caller.
func TestUnavailableIsNotUnauthenticated(t *testing.T) {
	t.Parallel()
	a, _ := authenticator(testdb.New(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, token := newToken()
	_, err := a.Token(ctx, token)
	turnedAway(t, err, Unavailable)
	for range maxFailures + 1 {
		_, err = a.Login(ctx, "ann", phrase, "10.0.0.1:1")
		turnedAway(t, err, Unavailable)
	}
}
