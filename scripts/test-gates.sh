#!/usr/bin/env bash
# Shows that every gate can fail: plants a breach in a copy of what the gates need, runs the gate there, and expects it
# to be red and to name what was planted. A gate without a plant here is red. The rules behind the Go gates are shown
# red line by line by the tests of internal/gates.
. "$(dirname "$0")/lib.sh"

root="$PWD"
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT

# kept is what the gates need to run. The rest stays out of the copy, so that they need not compile it in a new place.
kept=(go.mod go.sum sqlc.yaml staticcheck.conf scripts internal/gates internal/dbsqlc lint pg/migrations)

# plant makes the breach for a gate in the current folder and sets want to what the gate must then say.
plant() {
	local module
	module="$(go list -m)"
	mkdir -p mail
	case "$1" in
	arrows)
		printf 'package mail\n\nimport _ "%s/jobs/river"\n' "$module" >mail/planted.go
		want='mail/planted.go:3: arrows: '
		;;
	calls)
		printf 'package mail\n\nfunc planted() {\n\tgo planted()\n}\n' >mail/planted.go
		want='mail/planted.go:4: goroutine: '
		;;
	docs)
		printf 'package mail\n\nfunc Planted() {}\n' >mail/planted.go
		want='mail/planted.go:3: comments: '
		;;
	effects)
		printf 'package mail\n\nimport "net/http"\n\nvar planted = http.DefaultClient\n' >mail/planted.go
		want='mail/planted.go:5: effects: '
		;;
	files)
		echo 'select 1;' >pg/migrations/999_planted.up.sql
		want='pg/migrations/999_planted.up.sql:1: migrations: '
		;;
	format)
		printf 'package mail\n\nfunc  planted() {}\n' >mail/planted.go
		want='mail/planted.go:1: format: '
		;;
	generated)
		local queries
		queries="$(grep -rl --include='*.sql' -e '^-- name:' internal/dbsqlc | sort | head -1)"
		printf '\n-- name: Planted :one\nselect 1::int as planted;\n' >>"$queries"
		want='Planted'
		;;
	staticcheck)
		alone 'func main() {}\n\nfunc unused() {}\n'
		want='planted.go:5:6: func unused is unused (U1000)'
		;;
	tidy)
		alone 'func main() {}\n'
		go mod edit -require=github.com/google/go-cmp@v0.7.0 planted/go.mod
		want='-require github.com/google/go-cmp'
		;;
	vet)
		alone 'import "fmt"\n\nfunc main() { fmt.Printf("%%d\\n", "planted") }\n'
		want='planted.go:5:27: fmt.Printf format %d has arg'
		;;
	*)
		echo "scripts/test-gates.sh: no breach is planted for check-$1: plant one" >&2
		return 1
		;;
	esac
}

# alone leaves one small module in place of the others, so that a slow tool need not read the whole tree again.
alone() {
	find . -name go.mod -delete
	mkdir planted
	printf 'module planted\n\ngo 1.26.0\n' >planted/go.mod
	printf "package main\n\n$1" >planted/planted.go
}

# red says whether a gate fails on its breach for the right reason.
red() (
	name="$1"
	rm -rf "$copy/tree" && mkdir "$copy/tree" && cd "$copy/tree"
	(cd "$root" && cp -r --parents "${kept[@]}" "$copy/tree")
	want=''
	plant "$name" || exit 1
	if said="$("scripts/check-$name.sh" 2>&1)"; then
		echo "check-$name stays green on a planted breach" >&2
		exit 1
	fi
	if [[ "$said" != *"$want"* ]]; then
		printf 'check-%s does not say "%s" of a planted breach, but:\n%s\n' "$name" "$want" "$said" >&2
		exit 1
	fi
)

failed=0
for gate in scripts/check-*.sh; do
	name="$(basename "$gate" .sh)"
	red "${name#check-}" || failed=1
done
exit $failed
