#!/usr/bin/env bash
# Installs what the demo and the tests need and the machine lacks: Postgres server binaries (no cluster is made and
# nothing is started; the tests run a private server of their own) and a C compiler for the race detector. Says nothing
# where all is there. Without root, or without apt-get, it says what to install and ends well: Postgres is then
# downloaded by the tests, and they run without the race detector. With the argument "drivers" it installs as well what
# the programs of docs/quickstart-any-language.md need, for the languages that are on the machine, what the workers of
# examples/workers need, and what the tests of the panel need: Chromium, and nginx to put before it.
. "$(dirname "$0")/lib.sh"

if ! command -v go >/dev/null; then
	echo "install: Go is missing; see https://go.dev/dl" >&2
	exit 1
fi

missing=()
postgres_bin >/dev/null || missing+=(postgresql)
has_cc || missing+=(gcc libc6-dev)
command -v make >/dev/null || missing+=(make)
if [ "${1:-}" = drivers ] && command -v apt-get >/dev/null; then
	speaks() { "$1" -c 'import psycopg' 2>/dev/null; }
	command -v python3 >/dev/null && ! speaks python3 && ! speaks /usr/bin/python3 && missing+=(python3-psycopg)
	# The workers of examples/workers: npm brings Node its driver where both are there, else Debian's packages do.
	command -v python3 >/dev/null || missing+=(python3-psycopg)
	command -v node >/dev/null || missing+=(nodejs)
	command -v npm >/dev/null || [ -e /usr/share/nodejs/pg ] || missing+=(node-pg)
	command -v psql >/dev/null || missing+=(postgresql-client)
	has_chromium || missing+=(chromium)
	has_nginx || missing+=(nginx-light)
	command -v javac >/dev/null && [ ! -e /usr/share/java/postgresql.jar ] && missing+=(libpostgresql-jdbc-java)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "install: missing: ${missing[*]}. On Debian and Ubuntu: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
	exit 0
fi

export DEBIAN_FRONTEND=noninteractive
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
apt() {
	if ! apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$log" 2>&1; then
		tail -20 "$log" >&2
		echo "install: apt-get $* failed (its last lines are above)" >&2
		exit 1
	fi
}
# A server that is installed is not to run.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$log" "$policy"' EXIT
fi
apt update
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
	# The server package makes a cluster and starts it unless it is told not to.
	apt install --no-install-recommends postgresql-common
	conf=/etc/postgresql-common/createcluster.conf
	sed -i '/^[#[:space:]]*create_main_cluster/d' "$conf"
	echo "create_main_cluster = false" >>"$conf"
fi
apt install --no-install-recommends "${missing[@]}"
echo "install: installed ${missing[*]} with apt-get"
