package loop

import (
	"context"
	"errors"
	"sync"
)

// Together calls fn n times side by side, with 0 to n-1, waits for all and joins their errors. A panic becomes an error.
func Together(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = guard(ctx, func(ctx context.Context) error { return fn(ctx, i) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
