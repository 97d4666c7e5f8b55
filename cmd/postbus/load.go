package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	opscli "github.com/postbus/postbus/ops/cli"
)

const envPrefix = "POSTBUS_"

// environment is a process's, as os.Environ has it.
type environment []string

func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

func (e environment) lookup(name string) (string, bool) {
	for _, line := range slices.Backward(e) {
		if key, value, _ := strings.Cut(line, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// source says where a setting came from.
type source string

const (
	fromDefault source = "default"
	fromFile    source = "file"
	fromEnv     source = "environment"
	fromFlag    source = "flag"
)

// loader collects the settings of a command.
type loader struct {
	env     environment
	file    string
	sources map[string]source
}

// addFlags gives cmd a flag for each key but those left out.
func (l *loader) addFlags(cmd *cobra.Command, without ...string) {
	flags := cmd.Flags()
	for _, s := range keys() {
		if slices.Contains(without, s.key) {
			continue
		}
		doc := s.doc + " (" + s.env() + ")"
		if s.isBool {
			flags.Bool(s.flag(), false, doc)
		} else {
			flags.String(s.flag(), s.fallback, doc)
		}
	}
	flags.StringVar(&l.file, "config", "", "JSON file with settings, {\"listen\": \"127.0.0.1:8899\"} (POSTBUS_CONFIG)")
}

// load answers the settings: flag (where there are flags), else environment, else file, else default.
func (l *loader) load(flags *pflag.FlagSet) (settings, error) {
	var out settings
	if err := l.env.check(); err != nil {
		return out, err
	}
	if l.file == "" {
		l.file = l.env.get(envPrefix + "CONFIG")
	}
	file, err := readFile(l.file)
	if err != nil {
		return out, opscli.Usage(err)
	}
	l.sources = map[string]source{}
	for _, s := range keys() {
		value, from := s.fallback, fromDefault
		if given, ok := file[s.key]; ok {
			value, from = given, fromFile
		}
		if given, ok := l.env.lookup(s.env()); ok {
			value, from = given, fromEnv
		}
		if flags != nil {
			if flag := flags.Lookup(s.flag()); flag != nil && flag.Changed {
				value, from = flag.Value.String(), fromFlag
			}
		}
		if err := s.set(&out, value); err != nil {
			return out, opscli.Usage(fmt.Errorf("%s (%s): %w", s.key, from, err))
		}
		l.sources[s.key] = from
	}
	return out, nil
}

// injected are the variables that Kubernetes sets for a service of our name.
var injected = regexp.MustCompile(`^POSTBUS_(.*_)?(SERVICE_(HOST|PORT)(_.*)?|PORT(_\d+_.*)?)$`)

// check refuses a variable that looks like a setting and is none.
func (e environment) check() error {
	known := map[string]bool{envPrefix + "CONFIG": true, envPrefix + "SERVER": true, envPrefix + "TOKEN": true}
	for _, s := range keys() {
		known[s.env()] = true
	}
	for _, line := range e {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] && !injected.MatchString(name) {
			return opscli.Usage(fmt.Errorf("the environment has %s, which is no setting; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
	return nil
}

// readFile reads a file of settings. No path is no file.
func readFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("--config: %s is not a JSON object: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("--config: %s is more than one JSON value", path)
	}
	known := map[string]bool{}
	for _, s := range keys() {
		known[s.key] = true
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !known[key] {
			return nil, fmt.Errorf("--config: %s has %q, which is no setting; there are %s", path, key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if out[key], err = plain(object[key]); err != nil {
			return nil, fmt.Errorf("--config: %s: %s: %w", path, key, err)
		}
	}
	return out, nil
}

// plain is a value of the file as a flag has it.
func plain(value any) (string, error) {
	switch v := value.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			text, ok := part.(string)
			if !ok || strings.Contains(text, ",") {
				return "", errors.New("a list holds texts without commas")
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	case string, bool, json.Number:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("a value is a text, a number, true, false or a list of texts")
}
