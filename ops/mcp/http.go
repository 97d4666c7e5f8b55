package opsmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// maxBody is how many bytes a request may have: the largest input, and what is around it.
const maxBody = ops.MaxInput + 64<<10

// Handler answers MCP over streamable HTTP: POST only, one JSON answer for a request, no sessions. whoCalls is asked with each
// request; its errors are ops.Errors, answered with their status. Unauthenticated, and an identity without a name, is 401 with
// WWW-Authenticate. It must ask for a secret and trust no address: a page in any browser on this machine can reach localhost.
func (s *Server) Handler(whoCalls func(r *http.Request) (ops.Identity, error)) http.Handler {
	opts := &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// A proxy on this machine hands on the name that the outside knows us by, and a page without a token gets 401.
		DisableLocalhostProtection: true,
	}
	server := s.serve(fromToken)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := whoCalls(r)
		if err == nil && who.Name == "" {
			err = &ops.Error{Code: ops.Unauthenticated, Message: "MCP needs a token: send it as Authorization: Bearer …"}
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		as(who, inner).ServeHTTP(w, r)
	}))
}

// identity is where a request's token info has who calls.
const identity = "identity"

// as hands the identity on with the request in the library's own way: as what a token stands for. The token itself has done its
// work and goes no further.
func as(who ops.Identity, next http.Handler) http.Handler {
	verified := auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: who.Name, Extra: map[string]any{identity: who}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer verified")
		verified.ServeHTTP(w, r)
	})
}

// fromToken is whom as has named; nobody, who may do nothing, where it has not.
func fromToken(req *mcp.CallToolRequest) ops.Identity {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return ops.Identity{}
	}
	who, _ := req.Extra.TokenInfo.Extra[identity].(ops.Identity)
	return who
}

// refuse answers why the caller is not let in.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	told := ops.Explain(err)
	switch told.Code {
	case ops.Unauthenticated:
		challenge := fmt.Sprintf("Bearer realm=%q", s.cfg.Name)
		if r.Header.Get("Authorization") != "" {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	case ops.Internal:
		if !told.Logged() {
			s.cfg.Log.ErrorContext(r.Context(), "who calls could not be found out", "face", ops.MCP, "error", err)
		}
	}
	if told.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(told.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(told.Code.Status())
	_ = json.NewEncoder(w).Encode(told) // the caller has gone
}
