#!/usr/bin/env bash
# The generated code is what the queries and migrations say.
. "$(dirname "$0")/lib.sh"
scripts/sqlc.sh diff || { echo "generated code is not current; run make gen and commit what it changes" >&2; exit 1; }
