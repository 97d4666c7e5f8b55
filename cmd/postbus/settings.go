package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// settings are how serve runs.
type settings struct {
	listen           string
	databaseURL      string
	listenURL        string
	webhookKeys      []string
	webhookAllow     []string
	webhookHTTPSOnly bool
	mail             mailSettings
	alertOwner       string
	retention        time.Duration
	skipMigrate      bool
	logLevel         slog.Level
	otlpEndpoint     string
	traceRatio       float64
	tracer           trace.TracerProvider // nil where nothing is traced; made of the two by whoever serves
	meter            metric.MeterProvider // the process's own; no key sets it
}

// setting is one key: "database_url" in the file, POSTBUS_DATABASE_URL in the environment, the flag --database-url.
type setting struct {
	key, doc, fallback string
	isBool             bool
	set                func(s *settings, text string) error
	show               func(s settings) string // without secrets
}

func (s setting) flag() string { return strings.ReplaceAll(s.key, "_", "-") }
func (s setting) env() string  { return envPrefix + strings.ToUpper(s.key) }

// keys are all settings.
func keys() []setting {
	return append([]setting{
		text("listen", "address of the HTTP server", "127.0.0.1:8899", func(s *settings) *string { return &s.listen }),
		address("database_url", "the database", func(s *settings) *string { return &s.databaseURL }),
		address("listen_database_url", "the server itself, for LISTEN, where database_url goes through a pooler in transaction mode",
			func(s *settings) *string { return &s.listenURL }),
		{
			key: "webhook_keys", doc: "keys that seal webhooks' secrets, ID:BASE64 of 32 bytes, comma separated, the first seals; webhooks are on where there is one",
			set:  func(s *settings, text string) error { s.webhookKeys = split(text); return nil },
			show: func(s settings) string { return maskKeys(s.webhookKeys) },
		},
		{
			key: "webhook_allow", doc: "hosts, addresses and networks that webhooks may reach although they are not public, comma separated",
			set:  func(s *settings, text string) error { s.webhookAllow = split(text); return nil },
			show: func(s settings) string { return strings.Join(s.webhookAllow, ",") },
		},
		boolean("webhook_https_only", "refuse endpoints with http URLs", func(s *settings) *bool { return &s.webhookHTTPSOnly }),
		text("alert_owner", "owner of the events that tell of alerts", "postbus", func(s *settings) *string { return &s.alertOwner }),
		{
			key: "retention", doc: "how long fanned events are kept at least", fallback: "168h",
			set:  func(s *settings, text string) (err error) { s.retention, err = time.ParseDuration(text); return err },
			show: func(s settings) string { return s.retention.String() },
		},
		boolean("skip_migrate", "leave the tables to postbus migrate up", func(s *settings) *bool { return &s.skipMigrate }),
		{
			key: "log_level", doc: "debug, info, warn or error", fallback: "info",
			set:  func(s *settings, text string) error { return s.logLevel.UnmarshalText([]byte(text)) },
			show: func(s settings) string { return strings.ToLower(s.logLevel.String()) },
		},
		{
			key: "otlp_endpoint", doc: "OpenTelemetry collector for traces and metrics, http://HOST:4318; default: what the OTEL_EXPORTER_OTLP_* variables say, else none",
			set: setCollector, show: showCollector,
		},
		{
			key: "trace_ratio", doc: "share of new traces that are sent, 0 to 1; a trace that comes from outside is sent where it says so", fallback: "1",
			set: setRatio, show: func(s settings) string { return strconv.FormatFloat(s.traceRatio, 'g', -1, 64) },
		},
	}, mailKeys()...)
}

func text(key, doc, fallback string, of func(*settings) *string) setting {
	return setting{
		key: key, doc: doc, fallback: fallback,
		set:  func(s *settings, text string) error { *of(s) = text; return nil },
		show: func(s settings) string { return *of(&s) },
	}
}

// address is a database's, which may hold a password.
func address(key, doc string, of func(*settings) *string) setting {
	s := text(key, doc, "", of)
	s.show = func(s settings) string { return maskURL(*of(&s)) }
	return s
}

func boolean(key, doc string, of func(*settings) *bool) setting {
	return setting{
		key: key, doc: doc, fallback: "false", isBool: true,
		set: func(s *settings, text string) (err error) {
			if *of(s), err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("%q is not true or false", text)
			}
			return nil
		},
		show: func(s settings) string { return strconv.FormatBool(*of(&s)) },
	}
}

func split(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// masked stands in the place of a secret.
const masked = "(masked)"

// maskURL shows where a database is. What it cannot take apart it does not show.
func maskURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return masked
	}
	user := u.User.Username()
	_, secret := u.User.Password()
	if query := u.Query(); query.Has("password") || query.Has("sslpassword") {
		secret, u.RawQuery = true, ""
	}
	u.User = nil
	shown := u.String()
	if user == "" && !secret {
		return shown
	}
	if secret {
		user += ":" + masked
	}
	return strings.Replace(shown, "://", "://"+user+"@", 1)
}

// maskKeys shows the ids of keys.
func maskKeys(given []string) string {
	shown := make([]string, len(given))
	for i, key := range given {
		shown[i] = masked
		if id, _, ok := strings.Cut(key, ":"); ok {
			shown[i] = id + ":" + masked
		}
	}
	return strings.Join(shown, ",")
}
