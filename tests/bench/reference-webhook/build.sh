#!/usr/bin/env bash
# Builds the webhook that ours is measured beside, and the programs that load both, and prints their folder. It lies
# outside the checkout, keyed by the sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cache=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/reference-webhook
key=$(cat go.mod cmd/*/*.go | sha256sum | cut -c1-12)
built=$cache/$key
mkdir -p "$cache"
exec 9> "$cache/.lock"
flock 9
if [ ! -d "$built" ]; then
  command -v go > /dev/null || { echo "go is needed to build the reference webhook (https://go.dev/doc/install)" >&2; exit 1; }
  rm -rf "$built.new"
  CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$built.new/" ./cmd/... >&2
  # Renamed, so that a build that was killed leaves no half folder.
  mv "$built.new" "$built"
fi
echo "$built"
