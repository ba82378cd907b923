#!/usr/bin/env bash
# Writes down what a real kubelet says of the Pods of shapes.yaml, from a watch of the API server: every distinct status
# document of each, into FOLDER. The documents of tests/fixtures/health/kubelet were made so; compare before replacing
# them, for some differ from run to run (the kubelet may say two things in one update or in two).
#   tests/real-node/capture.sh [FOLDER]      default target/kubelet-documents
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/../../target/kubelet-documents}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
finish() {
  local code=$?
  if [ $code -ne 0 ] && [ -n "${environment:-}" ]; then kubectl get pods >&2; fi
  "$here/down.sh"
  "$here/documents.py" "$out" "${version:-unknown}" <"$work/events"
  rm -rf "$work"
  exit $code
}
touch "$work/events"
trap finish EXIT
environment=$("$here/up.sh")
eval "$environment"

kubectl create namespace shapes >/dev/null
kubectl config set-context --current --namespace shapes >/dev/null
kubectl get pods --watch --output-watch-events -o json >"$work/events" &
watch=$!
kubectl apply -f "$here/shapes.yaml" >/dev/null

# until JSONPATH VALUE POD...
until_is() {
  local path=$1 value=$2; shift 2
  kubectl wait --timeout 180s --for="jsonpath={$path}=$value" "${@/#/pod/}" >/dev/null
}
reason='.status.containerStatuses[?(@.name=="consumer")].state.waiting.reason'
init='.status.initContainerStatuses[0]'
# ended POD...: in either of the two last phases.
ended() {
  local pod
  for pod in "$@"; do
    until [[ $(kubectl get pod "$pod" -o 'jsonpath={.status.phase}') =~ Failed|Succeeded ]]; do
      [ $SECONDS -lt 300 ] || { echo "$pod has not ended" >&2; return 1; }
      sleep 0.5
    done
  done
}
ready() { kubectl wait --timeout 180s --for=condition=Ready "${@/#/pod/}" >/dev/null; }

ready deleted deleted-stubborn deleted-held drained debugged
kubectl delete pod --wait=false deleted deleted-stubborn deleted-held >/dev/null
kubectl create --raw /api/v1/namespaces/shapes/pods/drained/eviction -f - >/dev/null <<JSON
{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "drained", "namespace": "shapes"}}
JSON
kubectl debug debugged --image localhost/app:1 --container look -- /app exit 3 >/dev/null 2>&1
until_is '.status.ephemeralContainerStatuses[0].state.terminated.exitCode' 3 debugged
ended exit-0 exit-1 exit-137 out-of-memory no-command post-start-fails init-fails native-sidecar deadline \
  liveness-fails liveness-fails-stubborn startup-fails evicted evicted-heedful refused-processors refused-affinity deleted-held
ready init-runs slow-start
until_is "$reason" ImagePullBackOff no-image
until_is "$reason" ErrImageNeverPull never-pull
until_is "$reason" InvalidImageName bad-image
until_is "$reason" CreateContainerConfigError no-secret root-refused
until_is "$init.state.waiting.reason" ImagePullBackOff init-no-image
until_is "$init.restartCount" 3 native-sidecar-crashes
until_is '.status.containerStatuses[?(@.name=="sidecar")].state.waiting.reason' ImagePullBackOff sidecar-no-image
until_is '.status.containerStatuses[?(@.name=="sidecar")].state.terminated.exitCode' 0 sidecar-exit-0
until_is '.status.containerStatuses[?(@.name=="sidecar")].state.terminated.exitCode' 1 sidecar-exit-1
until_is '.status.containerStatuses[?(@.name=="consumer")].state.terminated.exitCode' 1 consumer-exits-beside-sidecar
until_is '.status.containerStatuses[0].restartCount' 3 restarted-in-place
kubectl wait --timeout 180s --for=delete pod/deleted-stubborn pod/drained pod/deleted >/dev/null
version=$(kubectl get node node1 -o 'jsonpath={.status.nodeInfo.kubeletVersion}')
kubectl patch pod deleted-held --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
kubectl wait --timeout 60s --for=delete pod/deleted-held >/dev/null
kill $watch
