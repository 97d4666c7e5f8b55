package opscli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/postbus/postbus/ops"
)

// houseFlags have a meaning on every command. A property of the same name has the flag --input-NAME.
var houseFlags = []string{"server", "token", "database-url", "output", "yes", "input", "help"}

// flagOf is the name of a property's flag.
func flagOf(property string) string {
	name := strings.ReplaceAll(property, "_", "-")
	if slices.Contains(houseFlags, name) {
		return "input-" + name
	}
	return name
}

// singular is the other name of the flag of a list: --state for states. It answers "" where another flag has that name.
func singular(o *ops.Operation, property string) string {
	one, plural := strings.CutSuffix(property, "s")
	if _, taken := o.Input.Properties[one]; taken || !plural || one == "" || o.Input.Properties[property].Type != huma.TypeArray {
		return ""
	}
	name := strings.ReplaceAll(one, "_", "-")
	if slices.Contains(houseFlags, name) {
		return ""
	}
	return name
}

// input collects an operation's input.
type input struct {
	op     *ops.Operation
	fields []*field
	file   string
}

func (in *input) addFlags(cmd *cobra.Command) {
	also := map[string]string{}
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if plural, ok := also[name]; ok {
			name = plural
		}
		return pflag.NormalizedName(name)
	})
	for name, schema := range in.op.Input.Properties {
		f := &field{name: name, schema: schema, also: singular(in.op, name)}
		if f.also != "" {
			also[f.also] = flagOf(name)
		}
		in.fields = append(in.fields, f)
		flag := cmd.Flags().VarPF(f, flagOf(name), "", f.usage(slices.Contains(in.op.Input.Required, name)))
		if f.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		if values := enumOf(schema); len(values) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.Flags().StringVar(&in.file, "input", "", "file with the whole input as a JSON object, - for the standard input; flags go over it")
}

// takesID says that the operation is about one thing, whose id may stand without its flag.
func (in *input) takesID() bool { return slices.Contains(in.op.Input.Required, "id") }

// json is the input: that of --input, with the flags and the id over it.
func (in *input) json(cmd *cobra.Command, args []string) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	if in.file != "" {
		if err := in.readFile(cmd.InOrStdin(), object); err != nil {
			return nil, err
		}
	}
	given := map[string]bool{}
	cmd.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, f := range in.fields {
		if given[flagOf(f.name)] {
			object[f.name] = f.json()
		}
	}
	if len(args) > 0 {
		if given["id"] {
			return nil, usagef("the id is given twice, as %q and with --id", args[0])
		}
		id, err := convert(in.op.Input.Properties["id"], args[0])
		if err != nil {
			return nil, usagef("the id %q: %s", args[0], err)
		}
		object["id"] = id
	}
	return json.Marshal(object)
}

func (in *input) readFile(stdin io.Reader, object map[string]json.RawMessage) error {
	from := stdin
	if in.file != "-" {
		file, err := os.Open(in.file)
		if err != nil {
			return usagef("--input: %s", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	raw, err := io.ReadAll(io.LimitReader(from, ops.MaxInput+1))
	switch {
	case err != nil:
		return fmt.Errorf("read --input: %w", err)
	case len(raw) > ops.MaxInput:
		return &ops.Error{Code: ops.TooLarge, Message: fmt.Sprintf("--input has more than %d bytes, the limit", ops.MaxInput)}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(&object); err != nil {
		return usagef("--input is not a JSON object: %s", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return usagef("--input is more than one JSON value")
	}
	return nil
}
