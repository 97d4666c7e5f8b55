package ops

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// linkFor is how long a login link is good.
const linkFor = 10 * time.Minute

// Standing is what a session keeps of a login, to ask later whether it still holds: nothing in it is a secret that logs in.
type Standing string

const (
	accountStanding = "account:" // name, and a fingerprint of the password's hash
	tokenStanding   = "token:"   // hash of the token
)

// LoginSession is Login, and what a session keeps of it.
func (a *Authenticator) LoginSession(ctx context.Context, name, pass, remoteAddr string) (Identity, Standing, error) {
	if _, err := a.Login(ctx, name, pass, remoteAddr); err != nil {
		return Identity{}, "", err
	}
	return a.accountSession(ctx, name)
}

// TokenSession is Token, and what a session keeps of it. Failures count against remoteAddr as those of Login do.
func (a *Authenticator) TokenSession(ctx context.Context, bearer, remoteAddr string) (Identity, Standing, error) {
	attempt, wait := a.failures.begin(a.now(), failureKeys("", remoteAddr))
	if wait > 0 {
		return Identity{}, "", tooManyFailures(wait)
	}
	who, err := a.Token(ctx, bearer)
	if err != nil {
		if Explain(err).Code != Unauthenticated {
			attempt.forget()
		}
		return Identity{}, "", err
	}
	attempt.forget()
	hash := hashToken(bearer)
	return who, Standing(tokenStanding + hex.EncodeToString(hash[:])), nil
}

// Redeem logs in with a link of accounts.login_link: once, and within ten minutes.
func (a *Authenticator) Redeem(ctx context.Context, link string) (Identity, Standing, error) {
	hash := sha256.Sum256([]byte(link))
	account, err := queries(a.pool).TakeLoginLink(ctx, opssql.TakeLoginLinkParams{Hash: hash[:]})
	if errors.Is(err, pgx.ErrNoRows) {
		return Identity{}, "", newError(Unauthenticated, "the link was used already, or has ended: make another with accounts.login_link")
	}
	if err != nil {
		return Identity{}, "", a.failed(ctx, fmt.Errorf("redeem a login link: %w", err))
	}
	return a.accountSession(ctx, account)
}

// accountSession is an account that has just shown who it is.
func (a *Authenticator) accountSession(ctx context.Context, name string) (Identity, Standing, error) {
	row, err := queries(a.pool).AccountStanding(ctx, opssql.AccountStandingParams{Name: name})
	if errors.Is(err, pgx.ErrNoRows) {
		return Identity{}, "", newError(Unauthenticated, "the account is disabled")
	}
	if err != nil {
		return Identity{}, "", a.failed(ctx, fmt.Errorf("look an account up: %w", err))
	}
	return accountIdentity(row), Standing(accountStanding + fingerprint(row.Password) + ":" + name), nil
}

// Still answers whose login it was, as long as it holds: the account is enabled and has the same password, the token has neither
// ended nor been revoked. Scopes are those of now. As with Token, it may be ten seconds late.
func (a *Authenticator) Still(ctx context.Context, standing Standing) (Identity, error) {
	if text, ok := strings.CutPrefix(string(standing), tokenStanding); ok {
		var hash [sha256.Size]byte
		if raw, err := hex.DecodeString(text); err == nil && len(raw) == len(hash) {
			return a.tokenByHash(ctx, [sha256.Size]byte(raw))
		}
		return Identity{}, loginEnded()
	}
	print, name, ok := strings.Cut(strings.TrimPrefix(string(standing), accountStanding), ":")
	if !ok || !accountName.MatchString(name) {
		return Identity{}, loginEnded()
	}
	key, asked := sha256.Sum256([]byte(standing)), a.now()
	if who, ok := a.tokens.get(key, asked); ok {
		return who, nil
	}
	row, err := queries(a.pool).AccountStanding(ctx, opssql.AccountStandingParams{Name: name})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && subtle.ConstantTimeCompare([]byte(fingerprint(row.Password)), []byte(print)) == 0 {
		return Identity{}, loginEnded()
	}
	if err != nil {
		return Identity{}, a.failed(ctx, fmt.Errorf("look an account up: %w", err))
	}
	who := accountIdentity(row)
	a.tokens.put(key, who, asked, asked.Add(tokenCacheFor))
	return who, nil
}

func loginEnded() *Error { return newError(Unauthenticated, "the login has ended: log in again") }

// fingerprint tells passwords apart without telling what they hash to.
func fingerprint(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:8])
}

func accountIdentity(row opssql.AccountStandingRow) Identity {
	return Identity{Name: "account:" + row.Name, Scopes: scopesOf(row.Scopes), Owner: row.OwnerID}
}

// LoginLinkFor names the account that a link logs in.
type LoginLinkFor struct {
	Name string `json:"name" doc:"The account's name" pattern:"^[a-z0-9][a-z0-9._@-]*$" minLength:"1" maxLength:"64"`
}

// LoginLink logs in once, without a password.
type LoginLink struct {
	Token     string    `json:"token" doc:"Shown here and never again: open login?link=TOKEN of the panel"`
	ExpiresAt time.Time `json:"expires_at"`
}

func declareSessions(r *Registry) error {
	return add(r, Op[LoginLinkFor, LoginLink]{
		Name: "accounts.login_link", Summary: "Make a link with which an account logs in to the panel, once and within ten minutes",
		Access: Admin, Global: true, Run: makeLoginLink,
	})
}

func makeLoginLink(ctx context.Context, c *Call, in LoginLinkFor) (LoginLink, error) {
	q := c.credentials()
	if err := q.EndOldLinks(ctx); err != nil {
		return LoginLink{}, err
	}
	token := "pbl_" + rand.Text()
	hash := sha256.Sum256([]byte(token))
	ends, err := q.MakeLoginLink(ctx, opssql.MakeLoginLinkParams{Hash: hash[:], Account: in.Name, ValidSeconds: linkFor.Seconds()})
	if errors.Is(err, pgx.ErrNoRows) {
		return LoginLink{}, newError(NotFound, "there is no account %q that may log in", in.Name)
	}
	return LoginLink{Token: token, ExpiresAt: ends.UTC()}, err
}
