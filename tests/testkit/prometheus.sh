#!/usr/bin/env bash
# Prints the folder that holds prometheus and promtool, on the last line of stdout. All else goes to stderr.
#
# They are those of the PATH where both are there; else Debian's package is fetched with apt-get and unpacked into the
# cache folder. It is not installed: its service would start on the machine.
set -euo pipefail
say() { echo "prometheus: $*" >&2; }

if on_path=$(command -v prometheus) && command -v promtool >/dev/null; then
  dirname "$on_path"
  exit 0
fi
cache=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/prometheus
mkdir -p "$cache"
# Two at once would fetch it twice.
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/usr/bin/promtool" ]; then
  command -v apt-get >/dev/null || { say "neither on the PATH nor is there apt-get to fetch it with"; exit 1; }
  new=$(mktemp -d "$cache/.new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  say "fetching Debian's package (once; kept in $cache)"
  # The lists may be older than the archive, or missing.
  (cd "$new" && { apt-get -q download prometheus || { apt-get -q update && apt-get -q download prometheus; }; }) >&2
  dpkg-deb --extract "$new"/prometheus_*.deb "$new/files"
  rm -rf "$cache/usr"
  mv "$new/files/usr" "$cache/usr"
fi
echo "$cache/usr/bin"
