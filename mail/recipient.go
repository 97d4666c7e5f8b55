package mail

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postbus/postbus/mail/internal/letter"
)

// recipient is who gets a mail; where refused is not "" address is what was given in place of one.
type recipient struct {
	address, name string
	refused       string
}

// dataPath answers the keys of a recipient that the event's data name: "data.customer.email".
func dataPath(to string) (keys []string, ok bool) {
	rest, ok := strings.CutPrefix(to, "data.")
	if !ok || strings.Contains(to, "@") {
		return nil, false
	}
	keys = strings.Split(rest, ".")
	return keys, !slices.Contains(keys, "")
}

// recipients are those of a rule for an event with such data, each once.
func recipients(to []string, data any) []recipient {
	var all []recipient
	seen := map[string]bool{}
	add := func(given string) {
		r := recipientOf(given)
		if key := strings.ToLower(r.address); !seen[key] {
			seen[key] = true
			all = append(all, r)
		}
	}
	for _, entry := range to {
		keys, ok := dataPath(entry)
		if !ok {
			add(entry)
			continue
		}
		switch found := at(data, keys).(type) {
		case nil:
		case string:
			add(found)
		case []any:
			if len(found) > maxFromData {
				all = append(all, refuse(entry, fmt.Sprintf("%s has %d addresses; the limit is %d: nobody of them is mailed", entry, len(found), maxFromData)))
				continue
			}
			for _, one := range found {
				text, _ := one.(string)
				add(text)
			}
		default:
			all = append(all, refuse(entry, entry+" is neither an address nor a list of addresses"))
		}
	}
	return all
}

func recipientOf(given string) recipient {
	address, err := letter.ParseAddress(given)
	if err != nil {
		return refuse(given, err.Error())
	}
	return recipient{address: address.String(), name: address.Name}
}

// refuse keeps what was given in quotes, which no address has.
func refuse(given, why string) recipient {
	return recipient{address: fmt.Sprintf("%q", letter.Line(given, 100)), refused: letter.Line(why, 500)}
}

// at answers the value under the keys, nil where there is none.
func at(data any, keys []string) any {
	for _, key := range keys {
		object, ok := data.(map[string]any)
		if !ok {
			return nil
		}
		data = object[key]
	}
	return data
}
