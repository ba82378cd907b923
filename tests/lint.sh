#!/usr/bin/env bash
# Formatting, clippy, generated files and the chart. What a test compares as well is compared here so that a developer
# sees it in seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "lint: rustfmt"
cargo fmt --all --check
echo "lint: clippy"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
echo "lint: generated files"
cargo test --quiet --locked --test generated
echo "lint: chart"
assets=$(tests/control-plane/build.sh)
"$assets/helm" lint --strict chart
echo "lint: ok"
