# Sourced by the scripts: goes to the root of the tree and says what they share.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A clone that belongs to another user must build too.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

# modules prints the folder of every Go module of the tree, the released one first.
modules() {
	find . -name go.mod -not -path '*/testdata/*' -not -path '*/.*/*' -printf '%h\n' | sort
}

# in_modules runs a command in every module and fails if it failed in one.
in_modules() {
	local dir failed=0
	for dir in $(modules); do
		(cd "$dir" && "$@") || { echo "in module $dir: $*" >&2; failed=1; }
	done
	return $failed
}

# postgres_bin prints the folder of the newest Postgres server on the machine, or fails.
postgres_bin() {
	local found
	if found="$(command -v initdb)" && command -v postgres >/dev/null; then
		dirname "$found"
		return
	fi
	found="$(find /usr/lib/postgresql -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -1)"
	[ -n "$found" ] && dirname "$found"
}

# has_cc says whether a C compiler that can link is there: the race detector needs one.
has_cc() {
	command -v "${CC:-gcc}" >/dev/null && [ -e /usr/include/stdlib.h ]
}

# has_chromium says whether there is a browser for the tests of the panel.
has_chromium() {
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
}

# has_nginx says whether there is a proxy for the tests of the panel. Only root has its folder in the PATH.
has_nginx() {
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]
}

# seconds prints the time since a mark that "date +%s%N" took.
seconds() {
	local ms=$((($(date +%s%N) - $1) / 1000000))
	printf '%d.%01ds' $((ms / 1000)) $((ms % 1000 / 100))
}
