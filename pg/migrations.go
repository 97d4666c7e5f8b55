package pg

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed record.sql
var createRecord string

// Migration is one numbered step of the schema, with the SQL there and back.
type Migration struct {
	Version  int64
	Name     string
	Up, Down string
}

// Migrations returns the steps that this version knows, in order.
func Migrations() []Migration {
	migrations, err := readMigrations(migrationFiles)
	if err != nil {
		panic(err) // the files are compiled in: a test has read them
	}
	return migrations
}

var migrationName = regexp.MustCompile(`^(\d{3,})_([a-z0-9_]+)\.(up|down)\.sql$`)

// readMigrations reads the pairs NNN_name.up.sql and NNN_name.down.sql in the folder migrations.
func readMigrations(files fs.FS) ([]Migration, error) {
	ups, err := fs.Glob(files, "migrations/*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("pg: %w", err)
	}
	var migrations []Migration
	for _, up := range ups {
		parts := migrationName.FindStringSubmatch(path.Base(up))
		if parts == nil {
			return nil, fmt.Errorf("pg: migration %s: the form of a name is 001_what.up.sql", up)
		}
		version, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("pg: migration %s: %w", up, err)
		}
		upSQL, err := fs.ReadFile(files, up)
		if err != nil {
			return nil, fmt.Errorf("pg: migration: %w", err)
		}
		downSQL, err := fs.ReadFile(files, path.Join("migrations", parts[1]+"_"+parts[2]+".down.sql"))
		if err != nil {
			return nil, fmt.Errorf("pg: migration %s has no way back: %w", up, err)
		}
		migrations = append(migrations, Migration{version, parts[2], string(upSQL), string(downSQL)})
	}
	slices.SortFunc(migrations, func(a, b Migration) int { return int(a.Version - b.Version) })
	for i := 1; i < len(migrations); i++ {
		if migrations[i].Version == migrations[i-1].Version {
			return nil, fmt.Errorf("pg: two migrations have the number %d: %s and %s",
				migrations[i].Version, migrations[i-1].Name, migrations[i].Name)
		}
	}
	return migrations, nil
}
