package ops

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/ops/internal/password"
)

// maxPassword is in bytes; the schema's limit is in characters.
const maxPassword = 200

// accountName is the schema's pattern and length.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// Account is an operator who logs in, without the password's hash.
type Account struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Scopes      []Access   `json:"scopes" nullable:"false"`
	OwnerID     string     `json:"owner_id,omitempty" doc:"The one owner whose things it reaches; left out for all"`
	CreatedAt   time.Time  `json:"created_at"`
	LastLoginAt *time.Time `json:"last_login_at,omitempty"`
	DisabledAt  *time.Time `json:"disabled_at,omitempty"`
}

// AuditOwner makes an act on the account a line of its owner's.
func (a Account) AuditOwner() string { return a.OwnerID }

// AccountSpec is what accounts.create takes.
type AccountSpec struct {
	Name     string   `json:"name" doc:"What to log in with: lower-case letters, digits and . _ @ -" pattern:"^[a-z0-9][a-z0-9._@-]*$" minLength:"1" maxLength:"64"`
	Password string   `json:"password" doc:"At least 12 characters, at most 200 bytes" minLength:"12" maxLength:"200"`
	Scopes   []Access `json:"scopes" doc:"What it may do: record events, work (claim jobs of external kinds), read, act (holds read), admin (holds all)" enum:"record,work,read,act,admin" minItems:"1" maxItems:"5" nullable:"false"`
	OwnerID  string   `json:"owner_id,omitempty" doc:"Bind it to this owner's things; left out for all owners"`
}

// AccountID names one account.
type AccountID struct {
	ID string `json:"id" doc:"The account's id, as accounts.list shows it" minLength:"1" maxLength:"40"`
}

// AccountPassword is what accounts.set_password takes.
type AccountPassword struct {
	AccountID
	Password string `json:"password" doc:"At least 12 characters, at most 200 bytes" minLength:"12" maxLength:"200"`
}

// AccountPage is a page of accounts, by name.
type AccountPage struct {
	Items []Account `json:"items" nullable:"false"`
	Next  string    `json:"next,omitempty"`
}

func declareAccounts(r *Registry) error {
	return firstError(
		add(r, Op[AccountSpec, Account]{
			Name: "accounts.create", Summary: "Make an account that logs in with a password", Access: Admin, Global: true, Run: createAccount,
		}),
		add(r, Op[Paging, AccountPage]{
			Name: "accounts.list", Summary: "List accounts by name", Access: Admin, Global: true, ReadOnly: true, Run: listAccounts,
		}),
		add(r, Op[AccountPassword, Account]{
			Name: "accounts.set_password", Summary: "Give an account another password", Access: Admin, Global: true, Idempotent: true,
			Run: setPassword,
		}),
		add(r, Op[AccountID, Account]{
			Name: "accounts.disable", Summary: "Refuse an account's logins", Access: Admin, Global: true, Destructive: true, Idempotent: true,
			Preview: previewDisable, Run: disableAccount,
		}),
		add(r, Op[AccountID, Account]{
			Name: "accounts.enable", Summary: "Take an account's logins again", Access: Admin, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in AccountID) (Account, error) {
				return setDisabled(ctx, c, in, false)
			},
		}),
	)
}

func createAccount(ctx context.Context, c *Call, in AccountSpec) (Account, error) {
	scopes, err := granted(in.Scopes, in.OwnerID)
	if err != nil {
		return Account{}, err
	}
	if err := fits(in.Password); err != nil {
		return Account{}, err
	}
	row, err := c.credentials().CreateAccount(ctx, opssql.CreateAccountParams{
		Name: in.Name, Password: password.Hash(in.Password), Scopes: scopes, OwnerID: in.OwnerID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Account{}, newError(Conflict, "there is an account %q already: take another name, or set its password", in.Name)
	}
	return accountOf(row), err
}

func fits(password string) error {
	if len(password) > maxPassword {
		return fault("password", "it has %d bytes; the limit is %d bytes", len(password), maxPassword)
	}
	return nil
}

func listAccounts(ctx context.Context, c *Call, in Paging) (AccountPage, error) {
	after, err := openCursor("accounts", in.Cursor)
	if err != nil {
		return AccountPage{}, err
	}
	if after != "" && !accountName.MatchString(after) {
		return AccountPage{}, badCursor()
	}
	limit := pageSize(in)
	rows, err := c.credentials().ListAccounts(ctx, opssql.ListAccountsParams{After: after, PageSize: int32(limit + 1)})
	if err != nil {
		return AccountPage{}, err
	}
	page := AccountPage{Items: []Account{}}
	for _, row := range rows[:min(limit, len(rows))] {
		page.Items = append(page.Items, accountOf(opssql.CreateAccountRow(row)))
	}
	if len(rows) > limit {
		page.Next = sealCursor("accounts", rows[limit-1].Name)
	}
	return page, nil
}

func setPassword(ctx context.Context, c *Call, in AccountPassword) (Account, error) {
	if err := firstError(isCredential("account", in.ID), fits(in.Password)); err != nil {
		return Account{}, err
	}
	row, err := c.credentials().SetPassword(ctx, opssql.SetPasswordParams{ID: in.ID, Password: password.Hash(in.Password)})
	return accountOf(opssql.CreateAccountRow(row)), noCredential(err, "account", in.ID)
}

func previewDisable(ctx context.Context, c *Call, in AccountID) (Preview, error) {
	if err := isCredential("account", in.ID); err != nil {
		return Preview{}, err
	}
	row, err := c.credentials().GetAccount(ctx, opssql.GetAccountParams{ID: in.ID})
	if err != nil {
		return Preview{}, noCredential(err, "account", in.ID)
	}
	if row.DisabledAt != nil {
		return Preview{Would: "do nothing: the account " + row.Name + " is disabled already"}, nil
	}
	if err := c.keepAdminAccount(ctx, row); err != nil {
		return Preview{}, err
	}
	return Preview{Would: "disable the account " + row.Name + ": it cannot log in until it is enabled", Count: 1}, nil
}

func disableAccount(ctx context.Context, c *Call, in AccountID) (Account, error) {
	if err := firstError(isCredential("account", in.ID), c.credentials().LockAdmins(ctx)); err != nil {
		return Account{}, err
	}
	stands, err := c.credentials().GetAccount(ctx, opssql.GetAccountParams(in))
	if err != nil {
		return Account{}, noCredential(err, "account", in.ID)
	}
	if err := c.keepAdminAccount(ctx, stands); err != nil {
		return Account{}, err
	}
	return setDisabled(ctx, c, in, true)
}

func setDisabled(ctx context.Context, c *Call, in AccountID, disabled bool) (Account, error) {
	if err := isCredential("account", in.ID); err != nil {
		return Account{}, err
	}
	row, err := c.credentials().SetDisabled(ctx, opssql.SetDisabledParams{ID: in.ID, Disabled: disabled})
	return accountOf(opssql.CreateAccountRow(row)), noCredential(err, "account", in.ID)
}

func accountOf(row opssql.CreateAccountRow) Account {
	return Account{
		ID: row.ID, Name: row.Name, Scopes: scopesOf(row.Scopes), OwnerID: row.OwnerID, CreatedAt: row.CreatedAt,
		LastLoginAt: row.LastLoginAt, DisabledAt: row.DisabledAt,
	}
}
