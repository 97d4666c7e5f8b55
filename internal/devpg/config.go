package devpg

import (
	"log/slog"
	"maps"
)

// Config says how a server is run. Begin with ForTests or Durable.
type Config struct {
	// Dir keeps the server's files: data, socket, log. Empty means a temporary folder that is
	// removed by Stop. A folder that has data already is used as it is.
	Dir string
	// Port on 127.0.0.1. Zero means a free one, kept over restarts of one Server.
	Port int
	// Settings are server settings, as in postgresql.conf.
	Settings map[string]string
	// Log receives what the server does. Defaults to silence.
	Log *slog.Logger
}

// ForTests returns a Config for a server that is fast and forgets: it may lose everything when the
// machine crashes.
func ForTests() Config {
	return Config{Settings: map[string]string{
		"fsync":              "off",
		"synchronous_commit": "off",
		"full_page_writes":   "off",
		"max_connections":    "300",
		"shared_buffers":     "128MB",
		"max_wal_size":       "4GB",
	}}
}

// Durable returns a Config for a server that keeps what it has committed in dir.
func Durable(dir string) Config {
	return Config{Dir: dir, Settings: map[string]string{
		"max_connections": "200",
		"shared_buffers":  "128MB",
	}}
}

// With returns a copy of c with one more setting.
func (c Config) With(setting, value string) Config {
	c.Settings = maps.Clone(c.Settings)
	if c.Settings == nil {
		c.Settings = map[string]string{}
	}
	c.Settings[setting] = value
	return c
}

// forgetful says that the data need not survive a crash of the machine.
func (c Config) forgetful() bool { return c.Settings["fsync"] == "off" }
