#!/usr/bin/env bash
# Writes target/install.yaml: what `helm install streaming-operator chart` would install, as one plain file for
# `kubectl apply --server-side` and for Kustomize.
#   tests/manifests.sh [VALUES_FILE]      NAMESPACE=streaming-operator
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
namespace=${NAMESPACE:-streaming-operator}
helm=$(tests/control-plane/build.sh)/helm
out=${CARGO_TARGET_DIR:-target}/install.yaml
mkdir -p "$(dirname "$out")"

{
  # Helm makes the namespace itself (--create-namespace). The operator's Pods fit the strictest standard.
  cat <<YAML
---
apiVersion: v1
kind: Namespace
metadata:
  name: $namespace
  labels:
    pod-security.kubernetes.io/enforce: restricted
YAML
  # The test hook is Helm's to run.
  "$helm" template streaming-operator chart --namespace "$namespace" --no-hooks ${1:+--values "$1"}
} >"$out.new"
mv "$out.new" "$out"
echo "$out"
