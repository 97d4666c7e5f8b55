package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

var errBusy = errors.New("the service is busy")

func call(string) error { return errBusy }

// A handler says with its error what becomes of the job.
func ExampleHandler() {
	var handle jobs.Handler = func(_ context.Context, raw json.RawMessage) error {
		var args struct{ URL string }
		if err := json.Unmarshal(raw, &args); err != nil || args.URL == "" {
			return jobs.Discard(fmt.Errorf("args carry no url: %s", raw)) // no attempt will mend it
		}
		if err := call(args.URL); errors.Is(err, errBusy) {
			return jobs.Snooze(time.Minute) // come back later, no attempt spent
		}
		return nil
	}
	err := handle(context.Background(), json.RawMessage(`{}`))
	fmt.Println(jobs.IsDiscard(err), err)
	err = handle(context.Background(), json.RawMessage(`{"url": "https://example.com"}`))
	after, _ := jobs.SnoozedFor(err)
	fmt.Println(after)
	// Output:
	// true args carry no url: {}
	// 1m0s
}

func ExampleExponential() {
	backoff := jobs.Exponential(20*time.Second, 3, time.Hour)
	for attempt, middle := range []time.Duration{20 * time.Second, time.Minute, 3 * time.Minute} {
		wait := backoff(attempt + 1)
		fmt.Println(middle, wait >= middle*9/10 && wait <= middle*11/10)
	}
	fmt.Println(backoff(400) <= 66*time.Minute)
	// Output:
	// 20s true
	// 1m0s true
	// 3m0s true
	// true
}
