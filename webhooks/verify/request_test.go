package verify

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func vectorRequest(body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hooks", body)
	r.Header = vectorHeader(vectorV1)
	return r
}

func TestRequestReadsNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	size := int64(len(vectorBody))
	for name, c := range map[string]struct {
		limit int64
		want  error
	}{
		"default": {0, nil}, "exact": {size, nil}, "one less": {size - 1, ErrTooLarge}, "one": {1, ErrTooLarge},
	} {
		for _, announced := range []bool{true, false} {
			r := vectorRequest(strings.NewReader(vectorBody))
			if !announced {
				r.ContentLength = -1
			}
			m, body, err := verifierAt(t, 0, vectorSecret).Request(r, c.limit)
			if !errors.Is(err, c.want) {
				t.Errorf("%s, announced %t: got %v, want %v", name, announced, err, c.want)
			}
			if c.want == nil && (string(body) != vectorBody || m.ID != vectorID) || c.want != nil && body != nil {
				t.Errorf("%s, announced %t: got %v %q", name, announced, m, body)
			}
		}
	}
}

func TestRequestReadsNoBodyWhereTheHeadersWillNotDo(t *testing.T) {
	t.Parallel()
	r := vectorRequest(iotest.ErrReader(errors.New("the body was read")))
	r.Header.Del("webhook-id")
	if _, _, err := verifierAt(t, 0, vectorSecret).Request(r, 0); !errors.Is(err, ErrMissingHeader) {
		t.Errorf("got %v", err)
	}
}

func TestRequestReportsABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := vectorRequest(io.MultiReader(strings.NewReader(vectorBody[:5]), iotest.ErrReader(broken)))
	if _, _, err := verifierAt(t, 0, vectorSecret).Request(r, 0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	r = vectorRequest(nil)
	r.Body = nil
	if _, _, err := verifierAt(t, 0, vectorSecret).Request(r, 0); !errors.Is(err, ErrSignature) {
		t.Errorf("without a body: got %v", err)
	}
}

func TestHandlerAnswersWhatItRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"accepted":      {func(*http.Request) {}, http.StatusNoContent},
		"no header":     {func(r *http.Request) { r.Header.Del("webhook-signature") }, http.StatusBadRequest},
		"stale":         {func(r *http.Request) { r.Header.Set("webhook-timestamp", "1") }, http.StatusUnauthorized},
		"not signed":    {func(r *http.Request) { r.Header.Set("webhook-id", "other") }, http.StatusUnauthorized},
		"too large":     {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", 101))) }, http.StatusRequestEntityTooLarge},
		"broken off":    {func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)) }, http.StatusBadRequest},
		"body replaced": {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }, http.StatusUnauthorized},
	} {
		var got []string
		h := verifierAt(t, 0, vectorSecret).Handler(100,
			func(w http.ResponseWriter, _ *http.Request, m Message, body []byte) {
				got = append(got, m.ID+" "+string(body))
				w.WriteHeader(http.StatusNoContent)
			})
		r, w := vectorRequest(strings.NewReader(vectorBody)), httptest.NewRecorder()
		c.change(r)
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: answered %d %s, want %d", name, w.Code, w.Body, c.want)
		}
		var want []string
		if c.want == http.StatusNoContent {
			want = []string{vectorID + " " + vectorBody}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: handled (-want +got):\n%s", name, diff)
		}
	}
}
