#!/usr/bin/env bash
# Runs every fuzz test of every module for FUZZTIME (30s by default), one after the other. What makes one fail is kept
# under its package's testdata/fuzz: commit it with the repair.
. "$(dirname "$0")/lib.sh"

# fuzz_tests prints the folder and name of every fuzz test of the module in the current folder.
fuzz_tests() {
	local dir
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | while read -r dir; do
		sed -nE "s|^func (Fuzz[A-Za-z0-9_]*)\(.*|$dir \1|p" "$dir"/*_test.go
	done
}

count=0 failed=0
for module in $(modules); do
	while read -r dir name; do
		count=$((count + 1))
		echo "== ${dir#"$PWD"/}: $name"
		(cd "$dir" && go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" .) || failed=1
	done < <(cd "$module" && fuzz_tests)
done
echo "fuzz tests run: $count"
exit $failed
