package jobstest_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/jobstest"
)

// An adapter calls the suite from its conformance_test.go.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance
		jobstest.Run(t, jobstest.Harness{
			Database: testdb.New,
			New: func(_ testing.TB, _ *pgxpool.Pool, _ jobstest.Spec) (jobs.Runtime, error) {
				return nil, errors.New("the adapter under test goes here")
			},
		})
	}
	// Output:
}
