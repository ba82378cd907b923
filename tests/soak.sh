#!/usr/bin/env bash
# Longer runs of what `make test` runs for a short while. Usage: tests/soak.sh NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
names="analyses core idle model rollouts ha races crash migration"
case ${1:-} in
  analyses)
    # So many analyses that measure every 30 seconds.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_ANALYSES=${ANALYSES:-500} STREAMS_TEST_ANALYSIS_INTERVAL=30 \
      cargo test --profile ci --locked --test rollouts analyses:: -- --nocapture
    ;;
  idle)
    # Fifty pipelines, two replicas of the operator: five minutes without a request but watches and the lease.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_IDLE_SECONDS=300 cargo test --locked --test cluster idle -- --nocapture
    ;;
  core)
    # Random runs of the deciding core against a cluster in memory; SEEDS says how many.
    SCENARIO_SEEDS=${SEEDS:-10000} cargo test --profile ci --locked --test core_scenarios whatever_happens -- --nocapture
    ;;
  model)
    # Every state that a rollout can reach; LIMIT says how many of one configuration at most.
    cargo run --profile ci --locked --quiet -p rollout-model -- ${LIMIT:+"$LIMIT"}
    ;;
  rollouts)
    # So many pipelines that roll at once.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_ROLLOUTS=${PIPELINES:-100} cargo test --locked --test rollouts many:: -- --nocapture
    ;;
  ha)
    # Rotations, rolling restarts, lost leaders and stripped bundles, two replicas each; one test after the other, so that
    # each has the machine.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_ROTATIONS=${ROTATIONS:-10} STREAMS_TEST_RESTARTS=${RESTARTS:-5} STREAMS_TEST_LEADER_ROUNDS=${ROUNDS:-50} \
      cargo test --locked --test high_availability -- --nocapture --test-threads=1 --skip races::
    ;;
  races)
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_RACE_ROUNDS=${ROUNDS:-1000} cargo test --locked --test high_availability races:: -- --nocapture
    ;;
  crash)
    # The operator killed after every write of a create, an edit, a scale down and a deletion, in both namespace modes.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_CRASH_EVERY=1 cargo test --locked --test pods_live crash:: -- --nocapture --test-threads=1
    ;;
  migration)
    # The operator is killed after each number of writes up to KILLS, again and again until the pipelines are moved.
    STREAMING_OPERATOR_ASSETS=$(tests/control-plane/build.sh)
    export STREAMING_OPERATOR_ASSETS
    STREAMS_TEST_KILLS=${KILLS:-12} cargo test --locked --test migration -- --nocapture
    ;;
  *)
    echo "usage: make soak ONLY=NAME, where NAME is one of: $names" >&2
    exit 2
    ;;
esac
