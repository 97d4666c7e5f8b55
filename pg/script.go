package pg

import (
	"fmt"
	"strings"
)

// Script is the SQL that Migrate runs on an empty database, for those who apply it themselves: the migrations with the record
// of each. Migrate finds them done afterwards.
func Script() string {
	var b strings.Builder
	for _, m := range Migrations() {
		fmt.Fprintf(&b, "\n-- %03d_%s\n\n%s", m.Version, m.Name, m.Up)
		if m.Version == 0 {
			fmt.Fprintf(&b, "\n%s", createRecord)
		}
		fmt.Fprintf(&b, "\ninsert into postbus.migrations (version, name) values (%d, '%s');\n", m.Version, m.Name)
	}
	return b.String()
}
