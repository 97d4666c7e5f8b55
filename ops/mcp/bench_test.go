package opsmcp

import (
	"net/http"
	"testing"
)

// What the face costs a request, without an operation.
func BenchmarkPing(b *testing.B) {
	url := serveHTTP(b, New(newBus(b).reg, Config{}))
	for b.Loop() {
		if status, _, _ := post(b, url, "admin", ping); status != http.StatusOK {
			b.Fatal(status)
		}
	}
}

// A list of all tools.
func BenchmarkList(b *testing.B) {
	url := serveHTTP(b, New(newBus(b).reg, Config{}))
	for b.Loop() {
		if status, _, _ := post(b, url, "admin", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusOK {
			b.Fatal(status)
		}
	}
}
