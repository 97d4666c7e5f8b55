package verify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/postbus/postbus/webhooks/verify"
)

// A receiver. It has two secrets because the sender is changing from one to the next, and it skips what it knows: here in
// memory, in earnest in a table, in the transaction that also keeps what the message says.
func Example() {
	verifier, err := verify.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX")
	if err != nil {
		log.Fatal(err)
	}
	var known sync.Map
	receive := func(w http.ResponseWriter, _ *http.Request, m verify.Message, body []byte) {
		var event struct{ Type string }
		if err := json.Unmarshal(body, &event); err != nil {
			http.Error(w, "not the JSON that was agreed on", http.StatusBadRequest)
			return
		}
		if _, again := known.LoadOrStore(m.ID, true); !again {
			fmt.Println("received", event.Type)
		}
		w.WriteHeader(http.StatusNoContent)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /hooks", verifier.Handler(64<<10, receive))

	fmt.Println(post(mux, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"))
	fmt.Println(post(mux, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"), "again")
	fmt.Println(post(mux, "bm90IHRoZSBzZWNyZXQgb2YgYW55b25l"), "from somebody else")
	// Output:
	// received order.paid
	// 204
	// 204 again
	// 401 from somebody else
}

// post sends what a sender with that secret would.
func post(h http.Handler, secret string) int {
	const id, body = "msg_1", `{"type":"order.paid"}`
	now := fmt.Sprint(time.Now().Unix())
	key, _ := base64.StdEncoding.DecodeString(secret)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + now + "." + body))

	r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body))
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", now)
	r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// A receiver that answers in its own way reads the request itself.
func ExampleVerifier_Request() {
	verifier, err := verify.New("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		message, body, err := verifier.Request(r, 64<<10)
		if err != nil {
			log.Printf("refused a webhook: %v", err)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println(message.ID, len(body))
	})
}
