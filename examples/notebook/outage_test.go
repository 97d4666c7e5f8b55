package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// With the search service down writes go on, receipts say "not yet" and name the job; after its return every note is
// found and nothing was discarded.
func TestSearchDownAndUp(t *testing.T) {
	t.Parallel()
	database, data := testdb.EmptyURL(t), t.TempDir()
	service, searchURL := searchService(t, "127.0.0.1:0", data)
	_, base := demoPages(t, "--database-url", database, "--search-url", searchURL, "--data", data, "--receipt-wait", "4s")
	edited, deleted := write(t, base, "Edited", "before barley"), write(t, base, "Deleted", "before barley")
	wait.Eventually(t, patience, func() (bool, string) {
		ids := found(t, base, "barley")
		return len(ids) == 2, fmt.Sprintf("found %v while the service is up", ids)
	})

	service.kill()
	_ = service.cmd.Wait()
	var wg sync.WaitGroup
	answers := make([]answer, 8)
	for i := range answers {
		wg.Go(func() {
			switch i {
			case 0:
				answers[i] = call(t, http.MethodPut, base+"/notes/"+edited.Note.ID, map[string]string{"title": "Edited", "body": "during oats"})
			case 1:
				answers[i] = call(t, http.MethodDelete, base+"/notes/"+deleted.Note.ID, nil)
			default:
				answers[i] = call(t, http.MethodPost, base+"/notes", map[string]string{"title": fmt.Sprint("New ", i), "body": fmt.Sprint("during rye ", i)})
			}
		})
	}
	wg.Wait()
	for i, a := range answers {
		if a.Status >= 300 || a.Indexed || a.JobID == "" {
			t.Errorf("write %d while the service is down: %d %s", i, a.Status, a.Body)
		}
	}
	if a := call(t, http.MethodGet, base+"/search?q=barley", nil); a.Status != http.StatusServiceUnavailable {
		t.Errorf("searching while the service is down: %d %s", a.Status, a.Body)
	}

	searchService(t, strings.TrimPrefix(searchURL, "http://"), data)
	eventuallyFound(t, base, "oats", edited.Note.ID)
	eventuallyFound(t, base, "barley")
	for i := 2; i < len(answers); i++ {
		eventuallyFound(t, base, fmt.Sprint("rye ", i), answers[i].Note.ID)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "--once", "--database-url", database, "--search-url", searchURL, "--data", data}, &out, &errs); code != 0 {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
	if !strings.Contains(out.String(), "notes 7, events 0, jobs 0, coalesced 0, discarded 0") {
		t.Errorf("counts:\n%s", out.String())
	}
}
