#!/usr/bin/env bash
# Measures, and writes target/bench/NAME.json. Usage: tests/bench.sh [NAME]; without a name all of them.
# Exits 1 only when a bench failed: a number is never too low here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
names="render admission reaction"
cache=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/bench
commit=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
mkdir -p target/bench

# A Python with the Python operator's package in it, made once, outside the checkout.
python_with() {
  local package=$1 version=$2
  local venv=$cache/$package-$version
  mkdir -p "$cache"
  (
    flock 9
    if [ ! -e "$venv/ready" ]; then
      rm -rf "$venv"
      python3 -m venv "$venv"
      "$venv/bin/pip" install --quiet --disable-pip-version-check "$package==$version" >&2
      touch "$venv/ready"
    fi
  ) 9> "$cache/lock"
  echo "$venv/bin/python"
}

bench_render() {
  local python
  python=$(python_with sentry-streams-k8s 0.0.10)
  # BENCH_PROFILE=ci is built sooner: the release profile without link-time optimisation.
  local profile=${BENCH_PROFILE:-release}
  # It builds the program beside the bench.
  cargo bench --profile "$profile" --locked --bench render --no-run
  "$python" tests/bench/render.py target/bench/render.json "$commit" "target/$profile/streaming-operator" \
    tests/golden/golden.jsonl cargo bench --quiet --profile "$profile" --locked --bench render --
}

bench_admission() {
  local python programs schema
  python=$(python_with sentry-streams-k8s 0.0.10)
  schema=$("$python" -c 'import importlib.resources as r; print(r.files("sentry_streams") / "config.json")')
  programs=$(tests/bench/reference-webhook/build.sh)
  STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
  export STREAMING_OPERATOR_ASSETS
  local profile=${BENCH_PROFILE:-release}
  cargo bench --profile "$profile" --locked --bench admission --no-run
  "$python" tests/bench/admission.py target/bench/admission.json "$commit" "$programs" "$schema" \
    tests/golden/golden.jsonl cargo bench --quiet --profile "$profile" --locked --bench admission --
}

bench_reaction() {
  STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
  export STREAMING_OPERATOR_ASSETS
  local profile=${BENCH_PROFILE:-release}
  cargo bench --profile "$profile" --locked --bench reaction --no-run
  python3 tests/bench/reaction.py target/bench/reaction.json "$commit" \
    cargo bench --quiet --profile "$profile" --locked --bench reaction --
}

only=${1:-}
if [ -n "$only" ] && ! grep -qw -- "$only" <<< "$names"; then
  echo "usage: make bench [ONLY=NAME], where NAME is one of: $names" >&2
  exit 2
fi
failed=0
for name in ${only:-$names}; do
  # In a process of its own: `set -e` does not hold within a condition.
  if ! "$BASH" -c "$(declare -f python_with "bench_$name"); cache='$cache'; commit='$commit'; set -euo pipefail; bench_$name"; then
    echo "bench: $name failed" >&2
    failed=1
  fi
done
exit "$failed"
