#!/usr/bin/env bash
# Prints the version to build: VERSION where it is set, else what git says of the tree, else "(devel)".
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${VERSION:-}" ]; then
	echo "$VERSION"
elif tag="$(git describe --tags --match 'v*' --dirty 2>/dev/null)"; then
	echo "$tag"
elif commit="$(git describe --always --dirty 2>/dev/null)"; then
	echo "v0.0.0-$commit"
else
	echo "(devel)"
fi
