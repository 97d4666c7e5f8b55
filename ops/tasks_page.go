package ops

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Listed is one page of a list.
type Listed[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page, which may be there on a short page too; left out on the last one" maxLength:"500"`
}

// listed converts what a room answers into a page.
func listed[From, To any](from []From, next string, convert func(From) To) Listed[To] {
	page := Listed[To]{Items: make([]To, 0, len(from)), Next: next}
	for _, one := range from {
		page.Items = append(page.Items, convert(one))
	}
	return page
}

// pageOf answers a page of what was read from the cursor on, one more than the page holds where there are more.
func pageOf[From, To any](from []From, room string, paging Paging, key func(From) string, convert func(From) To) Listed[To] {
	next, most := "", pageSize(paging)
	if len(from) > most {
		from = from[:most]
		next = sealCursor(room, key(from[most-1]))
	}
	return listed(from, next, convert)
}

// cut answers a page of a list that is at hand as a whole, in the order of its keys. Keys are unique and not empty.
func cut[T any](all []T, room string, paging Paging, key func(T) string) (Listed[T], error) {
	after, err := openCursor(room, paging.Cursor)
	if err != nil {
		return Listed[T]{}, err
	}
	page := Listed[T]{Items: []T{}}
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	for _, one := range all {
		switch {
		case key(one) <= after:
		case len(page.Items) == pageSize(paging):
			page.Next = sealCursor(room, key(page.Items[len(page.Items)-1]))
			return page, nil
		default:
			page.Items = append(page.Items, one)
		}
	}
	return page, nil
}

// sealCursor makes the last entry's key opaque; room tells one list's cursors from another's.
func sealCursor(room, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(room + ":" + key))
}

// openCursor answers the key in a cursor, "" where there is none.
func openCursor(room, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if key, ours := strings.CutPrefix(string(raw), room+":"); err == nil && ours && key != "" && storable(key) {
		return key, nil
	}
	return "", badCursor()
}

func badCursor() error {
	return fieldError("cursor", "it is not one that a page of this list gave: use next of the page before, or none")
}

// fieldError is a fault whose text is at hand.
func fieldError(field, message string) error { return fault(field, "%s", message) }
