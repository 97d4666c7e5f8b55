package testdb

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ForExample is New for a runnable example, which has no *testing.T: call done at its end.
// It panics where New fails the test.
func ForExample() (pool *pgxpool.Pool, done func()) {
	ctx := context.Background()
	pool, done, err := forExample(ctx)
	if err != nil {
		panic(err)
	}
	return pool, done
}

func forExample(ctx context.Context) (*pgxpool.Pool, func(), error) {
	template, err := binary.migrated(ctx)
	if err != nil {
		return nil, nil, err
	}
	admin, err := binary.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	name := newName()
	if err := create(ctx, admin, name, template); err != nil {
		return nil, nil, err
	}
	pool, err := connect(ctx, admin, name)
	if err != nil {
		return nil, nil, err
	}
	return pool, func() {
		pool.Close()
		if err := drop(ctx, admin, name); err != nil {
			panic(err)
		}
	}, nil
}
