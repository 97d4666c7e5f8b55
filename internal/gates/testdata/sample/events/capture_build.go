package events

func capture(table string) string {
	return "create trigger captured after insert on " + table
}
