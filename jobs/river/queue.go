package river

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/postbus/postbus/jobs"
)

const maxQueueBytes = 64

// River's own rule for the names of queues (client.go, nameRegex), where "|" stands for our dot.
var queueForm = regexp.MustCompile(`^[a-z0-9]+([_|-]?[a-z0-9]+)*$`)

// storedQueue is the name under which River keeps the queue.
func storedQueue(name string) string { return strings.ReplaceAll(name, ".", "|") }

// shownQueue is the reverse of storedQueue.
func shownQueue(stored string) string { return strings.ReplaceAll(stored, "|", ".") }

func checkQueue(name string) error {
	if err := jobs.CheckName("queue", name); err != nil {
		return err
	}
	if len(name) > maxQueueBytes || !queueForm.MatchString(storedQueue(name)) {
		return fmt.Errorf("%w: queue name %q: words of a-z and 0-9 with one of . _ - between them, at most %d bytes",
			jobs.ErrInvalid, name, maxQueueBytes)
	}
	return nil
}
