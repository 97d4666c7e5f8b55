package river

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	riverqueue "github.com/riverqueue/river"

	"github.com/postbus/postbus/jobs"
)

// kind is a declared kind.
type kind struct {
	jobs.Kind
}

// periodicPrefix begins the kind of every periodic's job.
const periodicPrefix = "periodic."

// declare answers the kinds by name, periodics' kinds among them.
func declare(declared []jobs.Kind, periodics []jobs.Kind) (map[string]*kind, error) {
	kinds := map[string]*kind{}
	for _, k := range declared {
		if strings.HasPrefix(k.Name, periodicPrefix) {
			return nil, fmt.Errorf("%w: kind %q: names that begin with %q belong to periodics", jobs.ErrInvalid, k.Name, periodicPrefix)
		}
	}
	for _, k := range append(declared[:len(declared):len(declared)], periodics...) {
		k, err := k.WithDefaults()
		if err != nil {
			return nil, err
		}
		if err := checkQueue(k.Queue); err != nil {
			return nil, fmt.Errorf("kind %q: %w", k.Name, err)
		}
		if _, ok := kinds[k.Name]; ok {
			return nil, fmt.Errorf("%w: kind %q is declared twice", jobs.ErrInvalid, k.Name)
		}
		kinds[k.Name] = &kind{k}
	}
	return kinds, nil
}

// served answers the names of the kinds that this process runs, without those that workers elsewhere do.
func served(kinds map[string]*kind) []string {
	names := make([]string, 0, len(kinds))
	for name, k := range kinds {
		if !k.External {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rawArgs is the one type of args that River knows of; it stands for every kind. The args themselves never pass through
// River: the middleware reads them from the row.
type rawArgs struct{ kinds []string }

// noKind is nobody's: River wants one name beside the aliases.
const noKind = "postbus-none"

func (rawArgs) Kind() string                 { return noKind }
func (a rawArgs) KindAliases() []string      { return a.kinds }
func (rawArgs) MarshalJSON() ([]byte, error) { return json.RawMessage("{}"), nil }

// unreachable is the worker that River wants for each kind; the middleware answers before it.
type unreachable struct {
	riverqueue.WorkerDefaults[rawArgs]
}

func (unreachable) Work(context.Context, *riverqueue.Job[rawArgs]) error {
	return fmt.Errorf("the middleware was not called")
}
