package ops

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

const (
	confirmKey = "confirm"
	// confirmFor is how long a dry run's token is good.
	confirmFor = 10 * time.Minute
)

// sharedKey is a secret of the database that all processes sign with.
func (r *Registry) sharedKey(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	q := queries(r.deps.Pool)
	if err := q.MakeKey(ctx, opssql.MakeKeyParams{Name: name, Value: fresh}); err != nil {
		return nil, fmt.Errorf("make the key %q: %w", name, err)
	}
	return q.SharedKey(ctx, opssql.SharedKeyParams{Name: name})
}

// confirmation signs: this caller may call this operation with this input, until then.
func (r *Registry) confirmation(ctx context.Context, o *Operation, req Request) (string, error) {
	key, err := r.sharedKey(ctx, confirmKey)
	if err != nil {
		return "", err
	}
	ends := make([]byte, 8)
	binary.BigEndian.PutUint64(ends, uint64(time.Now().Add(confirmFor).Unix()))
	return base64.RawURLEncoding.EncodeToString(append(ends, seal(key, ends, o, req)...)), nil
}

func seal(key, ends []byte, o *Operation, req Request) []byte {
	var canonical any
	_ = json.Unmarshal(req.Input, &canonical) // checked before
	input, _ := json.Marshal(canonical)
	mac := hmac.New(sha256.New, key)
	for _, part := range [][]byte{ends, []byte(o.Name), []byte(req.Who.Name), input} {
		_ = binary.Write(mac, binary.BigEndian, uint64(len(part)))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// confirmed refuses a token that does not fit this call.
func (r *Registry) confirmed(ctx context.Context, o *Operation, req Request) error {
	wrong := newError(Conflict, "the confirmation does not fit this call of %s, or has ended: call it without one first, then with "+
		"the same input and the token of that answer", o.Name)
	raw, err := base64.RawURLEncoding.DecodeString(req.Confirm)
	if err != nil || len(raw) != 8+sha256.Size {
		return wrong
	}
	key, err := r.sharedKey(ctx, confirmKey)
	if err != nil {
		return err
	}
	if !hmac.Equal(raw[8:], seal(key, raw[:8], o, req)) || time.Now().Unix() > int64(binary.BigEndian.Uint64(raw[:8])) {
		return wrong
	}
	return nil
}
