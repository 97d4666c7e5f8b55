package ops

import "time"

// Paging is what every list takes.
type Paging struct {
	Cursor string `json:"cursor,omitempty" doc:"next of the page before; opaque" maxLength:"500"`
	Limit  int    `json:"limit,omitempty" doc:"How many entries, 1 to 200; 50 when left out" minimum:"0" maximum:"200"`
}

// Window is a range of time: at or after Since, before Until. Either may be left out.
type Window struct {
	Since *time.Time `json:"since,omitempty" doc:"At or after this moment, RFC 3339"`
	Until *time.Time `json:"until,omitempty" doc:"Before this moment, RFC 3339"`
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// None is the input of operations that take nothing.
type None struct{}

// Done is the output of operations that answer nothing but that they were done.
type Done struct {
	Done bool `json:"done"`
}
