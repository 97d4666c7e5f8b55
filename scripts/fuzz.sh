#!/usr/bin/env bash
# Runs every fuzz test of every module for FUZZTIME (30s by default), one after the other. What makes one fail is kept
# under its package's testdata/fuzz: commit it with the repair.
. "$(dirname "$0")/lib.sh"

failed=0 count=0
for dir in $(modules); do
	while IFS=: read -r file name; do
		count=$((count + 1))
		echo "== $dir/${file#./}: $name"
		(cd "$dir" && go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" "./$(dirname "$file")") || failed=1
	done < <(cd "$dir" && go list -f '{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}' ./... |
		sed '/^$/d' | xargs -r grep -Ho '^func Fuzz[A-Za-z0-9_]*(' | sed "s|^$(cd "$dir" && pwd)/||; s|:func |:|; s|($||" )
done
echo "fuzz tests run: $count"
exit $failed
