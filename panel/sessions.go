package panel

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/panelsql"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

const (
	// sessionMayLast bounds a session, and sessionMayIdle one that is not used.
	sessionMayLast = 24 * time.Hour
	sessionMayIdle = 4 * time.Hour

	standingKey = "standing"
)

// Sessions is the panel's own login: with an account's name and password, with an API token, or with a link that logs in once.
// Sessions are kept in the database, so any process answers any request, and a disabled account, another password or a revoked
// token ends them within ten seconds.
type Sessions struct {
	tokens  *ops.Authenticator
	manager *scs.SessionManager
	log     *slog.Logger
}

// NewSessions makes one. The cookie goes over HTTPS only, but for requests that came over plain HTTP to this very machine, as in
// development. A nil log is slog.Default().
func NewSessions(pool *pgxpool.Pool, tokens *ops.Authenticator, log *slog.Logger) *Sessions {
	if log == nil {
		log = slog.Default()
	}
	s := &Sessions{tokens: tokens, manager: scs.New(), log: log}
	s.manager.Store = sessionStore{pool}
	s.manager.HashTokenInStore = true
	s.manager.Lifetime, s.manager.IdleTimeout = sessionMayLast, sessionMayIdle
	s.manager.Cookie.Name = "postbus_session"
	s.manager.Cookie.Path = "" // where the panel is mounted, as the browser sees it
	s.manager.Cookie.SameSite = http.SameSiteLaxMode
	s.manager.Cookie.HttpOnly = true
	s.manager.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		if r.Context().Err() != nil {
			return // the browser has gone
		}
		log.WarnContext(r.Context(), "a session could not be read or kept", "error", err)
		http.Error(w, "The database does not answer; try again.", http.StatusServiceUnavailable)
	}
	return s
}

// Who answers whose session the request has.
func (s *Sessions) Who(r *http.Request) (ops.Identity, bool) {
	standing := s.manager.GetString(r.Context(), standingKey)
	if standing == "" {
		return ops.Identity{}, false
	}
	who, err := s.tokens.Still(r.Context(), ops.Standing(standing))
	return who, err == nil
}

// wrap loads the session of a request, and keeps it.
func (s *Sessions) wrap(next http.Handler) http.Handler {
	secure, plain := *s.manager, *s.manager
	secure.Cookie.Secure = true
	over := map[bool]http.Handler{true: secure.LoadAndSave(next), false: plain.LoadAndSave(next)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/static/") {
			next.ServeHTTP(w, r)
			return
		}
		over[!isLocal(r)].ServeHTTP(w, r)
	})
}

// isLocal says that the request came over plain HTTP and names this machine: there a cookie for HTTPS only would be lost.
func isLocal(r *http.Request) bool {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// loginPage shows the form, and takes it.
func (s *Sessions) loginPage(p *Panel, w http.ResponseWriter, r *http.Request) {
	form := view.LoginForm{To: destination(r.FormValue("to")), Link: r.FormValue("link")}
	if r.Method != http.MethodPost {
		if _, ok := s.Who(r); ok && form.Link == "" {
			redirect(w, form.To)
			return
		}
		p.render(w, r, http.StatusOK, view.Layout(view.Page{Title: "Log in"}), view.Login(form))
		return
	}
	standing, err := s.logIn(r, form.Link)
	if err == nil {
		err = s.manager.RenewToken(r.Context())
	}
	if err != nil {
		told := p.told(r, err)
		form.Link, form.Name, form.Problem = "", r.PostFormValue("name"), told
		p.render(w, r, told.Code.Status(), view.Layout(view.Page{Title: "Log in"}), view.Login(form))
		return
	}
	s.manager.Put(r.Context(), standingKey, string(standing))
	redirect(w, form.To)
}

func (s *Sessions) logIn(r *http.Request, link string) (standing ops.Standing, err error) {
	switch token := strings.TrimSpace(r.PostFormValue("token")); {
	case link != "":
		_, standing, err = s.tokens.Redeem(r.Context(), link)
	case token != "":
		_, standing, err = s.tokens.TokenSession(r.Context(), token, r.RemoteAddr)
	default:
		_, standing, err = s.tokens.LoginSession(r.Context(), r.PostFormValue("name"), r.PostFormValue("password"), r.RemoteAddr)
	}
	return standing, err
}

// logout ends the session.
func (s *Sessions) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "log out with POST", http.StatusMethodNotAllowed)
		return
	}
	if err := s.manager.Destroy(r.Context()); err != nil {
		s.manager.ErrorFunc(w, r, err)
		return
	}
	redirect(w, "login")
}

// destination is a view of the panel, whatever is asked for: a login leads nowhere else.
func destination(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path == "" || strings.ContainsAny(u.Path, "/\\") || u.Path == "login" || u.Path == "logout" {
		return "overview"
	}
	return u.Path + query(u)
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

func lastSlash(path string) int { return strings.LastIndex(path, "/") }

// sessionStore keeps sessions in the database.
type sessionStore struct{ pool *pgxpool.Pool }

var _ scs.CtxStore = sessionStore{}

func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	data, err := panelsql.New(s.pool).FindSession(ctx, panelsql.FindSessionParams{Token: token})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	queries := panelsql.New(s.pool)
	if err := queries.EndOldSessions(ctx); err != nil {
		return err
	}
	return queries.KeepSession(ctx, panelsql.KeepSessionParams{Token: token, Data: data, ExpiresAt: expiry})
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return panelsql.New(s.pool).EndSession(ctx, panelsql.EndSessionParams{Token: token})
}

// The methods without a context are what scs asks for; it calls those with one.

func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

func (s sessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
