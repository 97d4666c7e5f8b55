package ops

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/ops/internal/password"
)

const (
	// tokenCacheFor is how long a token is believed without asking the database: that long after a revocation, a token that was
	// just used may still be taken. An expiry is kept to the moment.
	tokenCacheFor = 10 * time.Second
	tokenCacheMax = 1000
	// hashesAtOnce bounds the memory of logins: each holds 19 MiB while its password is hashed.
	hashesAtOnce = 2
)

// Authenticator says who calls. One serves a process; all its methods may be called at once. Its errors are *Error.
type Authenticator struct {
	pool     *pgxpool.Pool
	log      *slog.Logger
	now      func() time.Time
	tokens   *tokenCache
	failures *limiter
	hashing  chan struct{}
	decoy    string
}

// NewAuthenticator makes one. A nil log is slog.Default().
func NewAuthenticator(pool *pgxpool.Pool, log *slog.Logger) *Authenticator {
	if log == nil {
		log = slog.Default()
	}
	return &Authenticator{
		pool: pool, log: log, now: time.Now, tokens: &tokenCache{max: tokenCacheMax, entries: map[[sha256.Size]byte]believed{}},
		failures: newLimiter(), hashing: make(chan struct{}, hashesAtOnce), decoy: password.Decoy(),
	}
}

// Token answers whose token it is ("token:pb_1a2b3c4d"). One that is unknown, malformed, expired or revoked is Unauthenticated, with
// the same text. A revocation takes hold within ten seconds, for an answer is kept that long so that not each request costs a
// query. The token is looked up by its hash: how long that takes says nothing about a token.
func (a *Authenticator) Token(ctx context.Context, bearer string) (Identity, error) {
	if !tokenForm.MatchString(bearer) {
		return Identity{}, badToken()
	}
	return a.tokenByHash(ctx, hashToken(bearer))
}

func (a *Authenticator) tokenByHash(ctx context.Context, hash [sha256.Size]byte) (Identity, error) {
	if who, ok := a.tokens.get(hash, a.now()); ok {
		return who, nil
	}
	asked := a.now()
	q := queries(a.pool)
	row, err := q.UseToken(ctx, opssql.UseTokenParams{Hash: hash[:], AtMost: tokenCacheFor.Seconds()})
	if errors.Is(err, pgx.ErrNoRows) {
		return Identity{}, badToken()
	}
	if err != nil {
		return Identity{}, a.failed(ctx, fmt.Errorf("look a token up: %w", err))
	}
	if row.Touch {
		if err := q.TouchToken(ctx, opssql.TouchTokenParams{ID: row.ID}); err != nil {
			a.log.WarnContext(ctx, "the last use of a token is not on record", "token", row.Prefix, "error", err)
		}
	}
	who := Identity{Name: "token:" + row.Prefix, Scopes: scopesOf(row.Scopes), Owner: row.OwnerID}
	a.tokens.put(hash, who, asked, asked.Add(time.Duration(row.GoodFor*float64(time.Second))))
	return who, nil
}

func badToken() *Error {
	return newError(Unauthenticated, "the token is not valid: it is unknown, has expired or was revoked")
}

// Login answers whose name and password they are ("account:ann"). A name or an address (remoteAddr with or without a port; of IPv6
// its /64; "" is not counted) with five failures within a minute is RateLimited, with the seconds to wait; logins under way count
// as failures until they succeed. Counts are this process's. Everything else that is wrong is Unauthenticated with the same text,
// after the same work, whether the name is known or not.
func (a *Authenticator) Login(ctx context.Context, name, pass, remoteAddr string) (Identity, error) {
	attempt, wait := a.failures.begin(a.now(), failureKeys(name, remoteAddr))
	if wait > 0 {
		return Identity{}, tooManyFailures(wait)
	}
	who, ok, err := a.login(ctx, name, pass)
	if err != nil {
		attempt.forget()
		return Identity{}, a.failed(ctx, fmt.Errorf("log in: %w", err))
	}
	if !ok {
		return Identity{}, newError(Unauthenticated, "the name or the password is wrong, or the account is disabled")
	}
	attempt.forget()
	return who, nil
}

func tooManyFailures(wait time.Duration) *Error {
	told := newError(RateLimited, "there were %d failed logins within a minute: wait %d seconds", maxFailures, seconds(wait))
	told.RetryAfter = int(seconds(wait))
	return told
}

func (a *Authenticator) login(ctx context.Context, name, pass string) (who Identity, ok bool, err error) {
	row := opssql.AccountToLogInRow{Password: a.decoy, Disabled: true}
	if accountName.MatchString(name) {
		found, err := queries(a.pool).AccountToLogIn(ctx, opssql.AccountToLogInParams{Name: name})
		if err == nil {
			row = found
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return who, false, err
		}
	}
	if ok, err = a.fits(ctx, row.Password, pass); err != nil || !ok || row.Disabled {
		return who, false, err
	}
	rehashed := row.Password
	if password.Outdated(rehashed) {
		rehashed = password.Hash(pass)
	}
	n, err := queries(a.pool).LoggedIn(ctx, opssql.LoggedInParams{ID: row.ID, Password: row.Password, Rehashed: rehashed})
	if err != nil || n == 0 {
		return who, false, err
	}
	return Identity{Name: "account:" + name, Scopes: scopesOf(row.Scopes), Owner: row.OwnerID}, true, nil
}

// fits hashes the password, a few at a time. A password that no account can have costs the same.
func (a *Authenticator) fits(ctx context.Context, hash, pass string) (bool, error) {
	select {
	case a.hashing <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-a.hashing }()
	ok, err := password.Verify(hash, pass[:min(len(pass), maxPassword+1)])
	return ok && len(pass) <= maxPassword, err
}

// failed logs what the caller is not told.
func (a *Authenticator) failed(ctx context.Context, err error) *Error {
	told := Explain(err)
	if told.Code == Internal {
		a.log.ErrorContext(ctx, "authentication failed", "error", err)
		told.logged = true
	}
	return told
}
