package jobstest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// message is one message of the server: a type byte, a length that counts itself, the body.
func message(kind byte, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

func TestADeafLinkLosesNotificationsAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var said, want []byte
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			kind := rapid.SampledFrom([]byte("ADTZ")).Draw(t, "type")
			m := message(kind, rapid.StringN(0, 40, 80).Draw(t, "body"))
			said = append(said, m...)
			if kind != 'A' {
				want = append(want, m...)
			}
		}
		l := &link{}
		l.deaf.Store(true)
		c := &linkConn{link: l}
		var got bytes.Buffer
		for len(said) > 0 { // as the network happens to cut it
			chunk := bytes.Clone(said[:rapid.IntRange(1, len(said)).Draw(t, "chunk")])
			said = said[len(chunk):]
			got.Write(chunk[:c.filter(chunk)])
		}
		if diff := cmp.Diff(want, got.Bytes(), cmp.Comparer(bytes.Equal)); diff != "" {
			t.Fatalf("heard (-want +got):\n%s", diff)
		}
	})
}

func TestALinkThatHearsLosesNothing(t *testing.T) {
	t.Parallel()
	c := &linkConn{link: &link{}}
	said := append(message('A', "channel"), message('Z', "I")...)
	if n := c.filter(bytes.Clone(said)); n != len(said) {
		t.Errorf("heard %d of %d bytes", n, len(said))
	}
}
