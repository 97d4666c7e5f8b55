package river

// hub is the process's LISTEN connection. (Stands in for pg.Listener until it is there.)
type hub interface {
	Subscribe(channel string, fn func(payload string)) (stop func())
}
