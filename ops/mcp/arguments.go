package opsmcp

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/postbus/postbus/ops"
)

const (
	// page is how many entries a list answers when the caller does not say; a model reads all it is given.
	page = 20
	// maxPage is how many it answers at most.
	maxPage = 50
)

// arguments takes what is this face's own out of what a caller sent: the confirmation, and the size of a page. The rest is
// handed on as it came, and what is no JSON object is the registry's to refuse.
func arguments(o *ops.Operation, raw json.RawMessage) (input json.RawMessage, token string, err error) {
	if string(raw) == "null" {
		raw = nil // some clients send it for no arguments
	}
	paged := isList(o)
	if !o.Destructive && !paged {
		return raw, "", nil
	}
	sent := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &sent); err != nil {
			return raw, "", nil
		}
	}
	if value, ok := sent[confirm]; ok && o.Destructive {
		delete(sent, confirm)
		if token, err = text(confirm, value, maxConfirm); err != nil {
			return nil, "", err
		}
	}
	if paged {
		sent["limit"] = pageSize(o, sent["limit"])
	}
	input, err = json.Marshal(sent)
	return input, token, err
}

// isList says whether the operation answers pages. A limit without a cursor is another thing: a cap on what an act touches.
func isList(o *ops.Operation) bool {
	return o.Input.Properties["limit"] != nil && o.Input.Properties["cursor"] != nil
}

// pageSize is the limit to hand on: ours for one left out, at most maxPage for one that is allowed. What is not allowed stays
// as it is, to be refused with the field's name.
func pageSize(o *ops.Operation, sent json.RawMessage) json.RawMessage {
	if sent == nil {
		return number(page)
	}
	var value any
	if err := json.Unmarshal(sent, &value); err != nil {
		return sent
	}
	n, ok := value.(float64)
	most := o.Input.Properties["limit"].Maximum
	switch {
	case !ok || n != math.Trunc(n) || most != nil && n > *most:
		return sent
	case n == 0:
		return number(page)
	case n > maxPage:
		return number(maxPage)
	}
	return sent
}

func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

// text reads a string of at most limit bytes.
func text(field string, raw json.RawMessage, limit int) (string, error) {
	var value any
	err := json.Unmarshal(raw, &value)
	s, ok := value.(string)
	if err == nil && ok && len(s) <= limit {
		return s, nil
	}
	return "", &ops.Error{Code: ops.Invalid, Message: "the input does not fit", Fields: []ops.FieldError{
		{Field: field, Message: fmt.Sprintf("expected a string of at most %d bytes: the token of the dry run", limit)},
	}}
}
