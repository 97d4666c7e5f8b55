package webhooks

import "sync"

func ptr[T any](v T) *T { return &v }

// inParallel calls f n times at once and waits.
func inParallel(n int, f func()) {
	var group sync.WaitGroup
	for range n {
		group.Go(f)
	}
	group.Wait()
}
