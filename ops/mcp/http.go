package opsmcp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// maxBody is how many bytes a request may have: the largest input, and what is around it.
const maxBody = ops.MaxInput + 64<<10

// Handler answers MCP over streamable HTTP: POST only, one JSON answer for a request, no sessions. auth says who calls; its errors
// are ops.Errors. Unauthenticated, or an identity without a name, is 401 with WWW-Authenticate. auth must ask for a secret and trust
// no address: any page that a browser on this machine shows can reach a server on localhost.
func (s *Server) Handler(auth func(r *http.Request) (ops.Identity, error)) http.Handler {
	opts := &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// A proxy on this machine hands on the name that the outside knows us by, and a page without a token gets 401.
		DisableLocalhostProtection: true,
	}
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := auth(r)
		if err == nil && who.Name == "" {
			err = &ops.Error{Code: ops.Unauthenticated, Message: "MCP needs a token: send it as Authorization: Bearer …"}
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		server := s.serve(who)
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts).ServeHTTP(w, r)
	}))
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
		s.cfg.Log.ErrorContext(r.Context(), "who calls could not be found out", "face", ops.MCP, "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(told.Code.Status())
	_ = json.NewEncoder(w).Encode(told) // the caller has gone
}
