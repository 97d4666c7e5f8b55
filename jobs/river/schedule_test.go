package river

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postbus/postbus/jobs"
)

// latest is the tick from which no other lies between it and now; next is the one after it.
func TestLatestAndNextMeet(t *testing.T) {
	t.Parallel()
	texts := []string{"every 1s", "every 7s", "every 1m0s", "every 24h0m0s", "* * * * *", "*/5 * * * *", "0 3 * * *", "30 2 29 2 *", "@hourly", "@monthly"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(texts).Draw(t, "schedule")
		s, err := parseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1_600_000_000, 2_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		latest, next := s.latest(now), s.next(now)
		if latest.IsZero() || latest.After(now) || !next.After(now) {
			t.Fatalf("%s at %s: latest %s, next %s", text, now, latest, next)
		}
		if following := s.next(latest); !following.Equal(next) {
			t.Fatalf("%s at %s: after latest %s comes %s, and next is %s", text, now, latest, following, next)
		}
		if at := s.latest(latest); !at.Equal(latest) {
			t.Fatalf("%s: the latest tick at a tick, %s, is %s", text, latest, at)
		}
	})
}

func TestEveryIsAlignedToTheEpoch(t *testing.T) {
	t.Parallel()
	got := every(15 * time.Minute).latest(time.Date(2026, 1, 2, 3, 44, 59, 0, time.FixedZone("", 3600)))
	if want := time.Date(2026, 1, 2, 2, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("latest = %s, want %s", got, want)
	}
}

func TestSchedulesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, cron := range []string{"x", "* * * *", "61 * * * *", "0 0 31 2 *", "TZ=Europe/Berlin * * * * *", "@every 1s"} {
		if _, _, err := scheduleOf(jobs.Periodic{Name: "p", Cron: cron}); err == nil {
			t.Errorf("cron %q is taken", cron)
		}
	}
}
