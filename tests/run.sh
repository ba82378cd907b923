#!/usr/bin/env bash
# Runs every tier of tests and sums them up in the last line:
#   N tests run: N passed, 0 failed, 0 skipped (S s)
# Exits 1 when a test failed, was skipped, or a test binary ended without a result.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The servers first: what a test has to build it would have to wait for under its own deadlines.
STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh) || exit 1
export STREAMING_OPERATOR_ASSETS
# Without it its tests fail, and say why; the others need not.
tests/testkit/prometheus.sh > /dev/null || true
STREAMING_OPERATOR_PYTHON_OPERATOR=$(tests/python-operator.sh | tail -1) || exit 1
export STREAMING_OPERATOR_PYTHON_OPERATOR
export RUST_BACKTRACE=${RUST_BACKTRACE:-1}
# A test that fails says why; a backtrace of each error on the way would bury it.
export RUST_LIB_BACKTRACE=${RUST_LIB_BACKTRACE:-0}

# One process a test binary, one binary after the other: a control plane is shared by the tests of a binary, and two of
# them would only take each other's processors.
cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}

read -r passed failed skipped < <(awk '
  /^test result: / {
    for (i = 1; i <= NF; i++) {
      if ($(i+1) ~ /^passed;/) p += $i
      if ($(i+1) ~ /^failed;/) f += $i
      if ($(i+1) ~ /^ignored;/) s += $i
    }
  }
  END { print p + 0, f + 0, s + 0 }' "$log")
if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
  echo "tests/run.sh: cargo test ended with code $code without a failed test: a build failed or a test binary was killed" >&2
fi
[ $((passed + failed)) -gt 0 ] || code=1
[ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ] || code=1
echo "$((passed + failed)) tests run: $passed passed, $failed failed, $skipped skipped ($SECONDS s)"
exit "$code"
