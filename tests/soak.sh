#!/usr/bin/env bash
# Longer runs of what `make test` runs for a short while. Usage: tests/soak.sh NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
names="idle scenarios"
case ${1:-} in
  idle)
    # Fifty pipelines, two replicas of the operator: five minutes without a request but watches and the lease.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_IDLE_SECONDS=300 cargo test --locked --test cluster idle -- --nocapture
    ;;
  scenarios)
    SCENARIO_SEEDS=${SEEDS:-20000} cargo test --locked --test core_scenarios whatever_happens -- --nocapture
    ;;
  *)
    echo "usage: make soak ONLY=NAME, where NAME is one of: $names" >&2
    exit 2
    ;;
esac
