package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

func mailsOf(t *testing.T, base, id string) []mailing.Receipt {
	t.Helper()
	var said struct{ Mails []mailing.Receipt }
	a := call(t, http.MethodGet, base+"/notes/"+id+"/mails", nil)
	if err := json.Unmarshal([]byte(a.Body), &said); err != nil || a.Status != http.StatusOK {
		t.Fatalf("mails: %d %s", a.Status, a.Body)
	}
	return said.Mails
}

// What is asked for is a receipt; "sent" is said once the job has completed and not before, and what the server refused is "failed".
func TestMailIsSentWhenItSaysSo(t *testing.T) {
	t.Parallel()
	database, data := testdb.EmptyURL(t), t.TempDir()
	_, base := demoPages(t, "--database-url", database, "--data", data)
	in := inspect(t, database)
	n := write(t, base, "Harvest ☂\r\nBcc: eve@example.com", "cut the barley")
	for to, want := range map[string]string{"Ann <ann@example.com>": mailing.Sent, "bob@refused.example": mailing.Failed} {
		a := call(t, http.MethodPost, base+"/notes/"+n.Note.ID+"/mail", map[string]string{"to": to})
		var receipt mailing.Receipt
		if err := json.Unmarshal([]byte(a.Body), &receipt); err != nil || a.Status != http.StatusAccepted || receipt.State == mailing.Failed {
			t.Fatalf("mail to %s: %d %s", to, a.Status, a.Body)
		}
		wait.Eventually(t, patience, func() (bool, string) {
			for _, m := range mailsOf(t, base, n.Note.ID) {
				if m.EventID != receipt.EventID {
					continue
				}
				if m.State == mailing.Sent {
					job, err := in.Get(t.Context(), m.JobID)
					if err != nil || job.State != jobs.Completed {
						t.Fatalf("it says sent, and the job is %q, %v", job.State, err)
					}
				}
				return m.State == want, "the mail to " + to + " is " + m.State + " " + m.Reason
			}
			return false, "the mail is not listed"
		})
	}
	kept, err := filepath.Glob(filepath.Join(data, "mailbox", "*.eml"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("the mailbox has %v, %v", kept, err)
	}
	raw, err := os.ReadFile(kept[0])
	if err != nil || !strings.Contains(string(raw), "cut the barley") || strings.Contains(string(raw), "\nBcc:") {
		t.Errorf("the mail is\n%s", raw)
	}
	for _, to := range []string{"", "nobody", "a@b, c@d", "a@b\r\nBcc: c@d"} {
		if a := call(t, http.MethodPost, base+"/notes/"+n.Note.ID+"/mail", map[string]string{"to": to}); a.Status != http.StatusBadRequest {
			t.Errorf("mail to %q answers %d: %s", to, a.Status, a.Body)
		}
	}
}
