#!/usr/bin/env bash
# The generated code is what the queries, migrations and templates say.
. "$(dirname "$0")/lib.sh"
{ scripts/sqlc.sh diff && scripts/templ.sh check; } || { echo "generated code is not current; run make gen and commit what it changes" >&2; exit 1; }
