package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
)

// askWithin is how long a server may take to say how it is.
const askWithin = 3 * time.Second

// newHealth is postbus health, for images that have no other program to ask with.
func newHealth(env environment) *cobra.Command {
	var server string
	alive := false
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a server whether it can work", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server == "" {
				l := loader{env: env}
				cfg, err := l.load(nil)
				if err != nil {
					return err
				}
				if server = env.get(envPrefix + "SERVER"); server == "" {
					server = here(cfg.listen)
				}
			}
			path := "/readyz"
			if alive {
				path = "/healthz"
			}
			says, err := ask(cmd.Context(), strings.TrimRight(server, "/")+path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), says)
			return err
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the server's URL (POSTBUS_SERVER); default: the one on this machine, at the setting listen")
	cmd.Flags().BoolVar(&alive, "alive", false, "ask only whether the process lives, not whether its database answers")
	return cmd
}

// here is the URL, on this machine, of a server that listens at an address.
func here(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// ask answers what the server says of itself. Whatever but 200 is an error.
func ask(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", opscli.Usage(errors.New("--server: it is no URL"))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", &ops.Error{Code: ops.Unavailable, Message: "the server does not answer: " + innermost(err)}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	says := strings.TrimSpace(string(body))
	if err != nil || res.StatusCode != http.StatusOK {
		return "", &ops.Error{Code: ops.Unavailable, Message: fmt.Sprintf("the server answers %d: %s", res.StatusCode, says)}
	}
	return says, nil
}
