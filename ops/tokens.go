package ops

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// Token is an API token as it is shown: without what would let anybody call.
type Token struct {
	ID         string     `json:"id"`
	Prefix     string     `json:"prefix" doc:"How the token begins; the audit log names it so"`
	Name       string     `json:"name"`
	Scopes     []Access   `json:"scopes" nullable:"false"`
	OwnerID    string     `json:"owner_id,omitempty" doc:"The one owner whose things it reaches; left out for all"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"To about a minute"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
}

// AuditOwner makes an act on the token a line of its owner's.
func (t Token) AuditOwner() string { return t.OwnerID }

// MintedToken is a token that was just made.
type MintedToken struct {
	Token
	Secret string `json:"token" doc:"The token itself. It is shown this once and is not kept: store it now"`
}

// TokenSpec is what tokens.create takes.
type TokenSpec struct {
	Name             string     `json:"name" doc:"What it is for" minLength:"1" maxLength:"100"`
	Scopes           []Access   `json:"scopes" doc:"What it may do: record events, work (claim jobs of external kinds), read, act (holds read), admin (holds all)" enum:"record,work,read,act,admin" minItems:"1" maxItems:"5" nullable:"false"`
	OwnerID          string     `json:"owner_id,omitempty" doc:"Bind it to this owner's things; left out for all owners"`
	ExpiresInSeconds int64      `json:"expires_in_seconds,omitempty" doc:"End it after so many seconds; left out, as expires_at, for never" minimum:"1" maximum:"315576000"`
	ExpiresAt        *time.Time `json:"expires_at,omitempty" doc:"End it at this moment, RFC 3339; in place of expires_in_seconds"`
}

// TokenID names one token.
type TokenID struct {
	ID string `json:"id" doc:"The token's id, as tokens.list shows it" minLength:"1" maxLength:"40"`
}

// TokenPage is a page of tokens, newest first.
type TokenPage struct {
	Items []Token `json:"items" nullable:"false"`
	Next  string  `json:"next,omitempty"`
}

func declareTokens(r *Registry) error {
	return firstError(
		add(r, Op[TokenSpec, MintedToken]{
			Name: "tokens.create", Summary: "Make an API token; it is shown this once", Access: Admin, Global: true, Run: createToken,
		}),
		add(r, Op[Paging, TokenPage]{
			Name: "tokens.list", Summary: "List API tokens, newest first", Access: Admin, Global: true, ReadOnly: true, Run: listTokens,
		}),
		add(r, Op[TokenID, Token]{
			Name: "tokens.revoke", Summary: "End an API token for good; it is refused at once, by running servers within ten seconds",
			Access: Admin, Global: true, Destructive: true, Idempotent: true, Preview: previewRevoke, Run: revokeToken,
		}),
	)
}

func createToken(ctx context.Context, c *Call, in TokenSpec) (MintedToken, error) {
	if in.ExpiresAt != nil && in.ExpiresInSeconds > 0 {
		return MintedToken{}, fault("expires_at", "expires_in_seconds is given too: leave one out")
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(time.Now()) {
		return MintedToken{}, fault("expires_at", "%s is not in the future", in.ExpiresAt.Format(time.RFC3339))
	}
	return mint(ctx, c.credentials(), in, c.Who.Name)
}

// mint makes a token and keeps its hash.
func mint(ctx context.Context, q *opssql.Queries, in TokenSpec, by string) (MintedToken, error) {
	scopes, err := granted(in.Scopes, in.OwnerID)
	if err != nil {
		return MintedToken{}, err
	}
	prefix, secret := newToken()
	hash := hashToken(secret)
	params := opssql.CreateTokenParams{
		Prefix: prefix, Hash: hash[:], Name: in.Name, Scopes: scopes, OwnerID: in.OwnerID, CreatedBy: by, ExpiresAt: in.ExpiresAt,
	}
	if lasts := float64(in.ExpiresInSeconds); lasts > 0 {
		params.LastsSeconds = &lasts
	}
	row, err := q.CreateToken(ctx, params)
	return MintedToken{Token: tokenOf(row), Secret: secret}, err
}

func listTokens(ctx context.Context, c *Call, in Paging) (TokenPage, error) {
	key, err := openCursor("tokens", in.Cursor)
	if err != nil {
		return TokenPage{}, err
	}
	limit := pageSize(in)
	params := opssql.ListTokensParams{PageSize: int32(limit + 1)}
	if key != "" {
		moment, id, _ := strings.Cut(key, "/")
		before, err := time.Parse(time.RFC3339Nano, moment)
		if err != nil || !uuidForm.MatchString(id) {
			return TokenPage{}, badCursor()
		}
		params.BeforeAt, params.BeforeID = &before, &id
	}
	rows, err := c.credentials().ListTokens(ctx, params)
	if err != nil {
		return TokenPage{}, err
	}
	page := TokenPage{Items: []Token{}}
	for _, row := range rows[:min(limit, len(rows))] {
		page.Items = append(page.Items, tokenOf(opssql.CreateTokenRow(row)))
	}
	if len(rows) > limit {
		last := rows[limit-1]
		page.Next = sealCursor("tokens", last.CreatedAt.Format(time.RFC3339Nano)+"/"+last.ID)
	}
	return page, nil
}

func previewRevoke(ctx context.Context, c *Call, in TokenID) (Preview, error) {
	if err := isCredential("token", in.ID); err != nil {
		return Preview{}, err
	}
	row, err := c.credentials().GetToken(ctx, opssql.GetTokenParams{ID: in.ID})
	if err != nil {
		return Preview{}, noCredential(err, "token", in.ID)
	}
	if row.RevokedAt != nil {
		return Preview{Would: "do nothing: the token " + row.Prefix + " is revoked already"}, nil
	}
	if err := c.keepAdminToken(ctx, row); err != nil {
		return Preview{}, err
	}
	return Preview{Would: "revoke the token " + row.Prefix + " (" + row.Name + ") for good", Count: 1}, nil
}

func revokeToken(ctx context.Context, c *Call, in TokenID) (Token, error) {
	if err := isCredential("token", in.ID); err != nil {
		return Token{}, err
	}
	if err := c.credentials().LockAdmins(ctx); err != nil {
		return Token{}, err
	}
	stands, err := c.credentials().GetToken(ctx, opssql.GetTokenParams(in))
	if err != nil {
		return Token{}, noCredential(err, "token", in.ID)
	}
	if err := c.keepAdminToken(ctx, stands); err != nil {
		return Token{}, err
	}
	row, err := c.credentials().RevokeToken(ctx, opssql.RevokeTokenParams{ID: in.ID})
	return tokenOf(opssql.CreateTokenRow(row)), noCredential(err, "token", in.ID)
}

func tokenOf(row opssql.CreateTokenRow) Token {
	return Token{
		ID: row.ID, Prefix: row.Prefix, Name: row.Name, Scopes: scopesOf(row.Scopes), OwnerID: row.OwnerID, CreatedAt: row.CreatedAt,
		CreatedBy: row.CreatedBy, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
	}
}

// tokenForm is pb_, eight characters that may be shown, and the secret: 32 random bytes.
var tokenForm = regexp.MustCompile(`^pb_[a-z2-7]{8}_[0-9a-f]{64}$`)

func newToken() (prefix, secret string) {
	b := make([]byte, 5+32)
	_, _ = rand.Read(b) // it never fails: it crashes the program instead
	prefix = "pb_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:5]))
	return prefix, prefix + "_" + hex.EncodeToString(b[5:])
}

// hashToken is all that is kept of a token. Its 256 random bits cannot be guessed, so that a fast hash will do.
func hashToken(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }
