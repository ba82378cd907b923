# What run.sh is made of.

WAIT=${E2E_WAIT_SECONDS:-120}
state=$(mktemp -d "${TMPDIR:-/tmp}/streaming-operator-e2e.XXXXXX")
source tests/checks.sh
streams=()
operators=(--namespace streaming-operator --selector app.kubernetes.io/name=streaming-operator)

start_node() {
  local environment
  export REAL_NODE_DIR=$state/node
  environment=$(tests/real-node/up.sh) || return 1
  eval "$environment"
}

# The image as `make image` made it, and the test program under the name of the examples' consumer.
load_images() {
  local images=(ctr -a "$REAL_NODE_DIR/containerd.sock" -n k8s.io images)
  "${images[@]}" import --base-name registry.example/streaming-operator target/image/streaming-operator.tar || return 1
  "${images[@]}" tag localhost/app:1 registry.example/sentry-streams:0.0.69
}

finish() {
  local code=$?
  trap - EXIT
  stop_stream
  [ ${#failed[@]} -eq 0 ] || tell
  sum_up e2e || code=1
  if [ -n "${KEEP:-}" ]; then
    printf 'export KUBECONFIG=%s\nREAL_NODE_DIR=%s tests/real-node/down.sh\n' "${KUBECONFIG:-}" "$state/node"
  else
    tests/real-node/down.sh
    rm -rf "$state"
  fi
  exit $code
}

# What somebody wants to see who was not there.
tell() {
  kubectl get spipe,pods --all-namespaces
  kubectl get events.events.k8s.io -o custom-columns=OF:.regarding.name,REASON:.reason,NOTE:.note | tail -n 40
  kubectl logs "${operators[@]}" --tail 40 --prefix
}

# The program of the image, at a person's keyboard.
program() { "target/image/$(dpkg --print-architecture)/streaming-operator" "$@"; }

# The commands of the README, from `helm install` on.
commands_of_readme() {
  awk '/^## / { here = ($0 == "## Install it") } here && /^```/ { if (inside) exit; inside = 1; next } inside' README.md
}

pod_of() { kubectl get pods -l "streams.sentry.io/managed-by" -o name | grep "e2e-pipeline-$1-0" | head -n 1; }

uids() { kubectl get pods -l streams.sentry.io/managed-by --sort-by .metadata.name -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}'; }

same_uids() { local now; now=$(uids); diff <(echo "$1") <(echo "$now"); }

replaced() { # PIPELINE OLD
  local now; now=$(pod_of "$1")
  echo "now $now"; [ -n "$now" ] && [ "$now" != "$2" ]
}

operators_ready() { # N: that many replicas, all of them Ready, and no other
  local seen
  seen=$(kubectl get pods "${operators[@]}" -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}')
  echo "$seen"; [ "$(grep -c True <<<"$seen")" -eq "$1" ] && [ "$(wc -l <<<"$seen")" -eq "$1" ]
}

hardened() {
  local seen
  seen=$(kubectl get pods "${operators[@]}" -o 'jsonpath={range .items[*]}{.spec.containers[0].securityContext.readOnlyRootFilesystem} {.spec.securityContext.runAsNonRoot}{.spec.containers[0].securityContext.runAsNonRoot}{"\n"}{end}')
  echo "$seen"; [ "$(grep -c '^true .*true' <<<"$seen")" -eq 2 ]
}

holder() { kubectl get lease streaming-operator --namespace streaming-operator -o 'jsonpath={.spec.holderIdentity}'; }

# A replica's identity begins with the name of its Pod.
leading_pod() { local now; now=$(holder); echo "pod/${now%%_*}"; }

another_holder() { local now; now=$(holder); echo "holder $now"; [ -n "$now" ] && [ "$now" != "$1" ]; }

webhook_is_a_service() {
  local seen
  seen=$(kubectl get validatingwebhookconfiguration streaming-operator -o 'jsonpath={.webhooks[0].clientConfig.service.name} {.webhooks[0].clientConfig.url} {.webhooks[0].clientConfig.caBundle}')
  echo "$seen"; grep -qE '^streaming-operator  [A-Za-z0-9+/=]{100,}$' <<<"$seen"
}

webhook_is_gone() { ! kubectl get validatingwebhookconfiguration,mutatingwebhookconfiguration -o name | grep streaming-operator; }

# stream: three users apply one edit after the other, each of a pipeline of its own; what became of each is written down.
stream() {
  local user
  rm -f "$state"/{stop,stream}
  touch "$state/stream"
  streams=()
  for user in one two three; do
    edits "edited-$user" >>"$state/stream" &
    streams+=($!)
  done
  eventually applied 10 >/dev/null
}

edits() { # PIPELINE
  local level=DEBUG answer
  until [ -e "$state/stop" ]; do
    if answer=$(sed "s/NAME/$1/; s/LEVEL/$level/" tests/e2e/edited.yaml | kubectl apply -f - 2>&1); then echo applied; else echo "refused: $answer"; fi
    [ $level = DEBUG ] && level=INFO || level=DEBUG
  done
}

applied() { [ "$(grep -c '^applied' "$state/stream")" -ge "$1" ]; }

# Goes on for another 10 applies, so that what ended last is seen too.
stop_stream() {
  [ ${#streams[@]} -gt 0 ] || return 0
  eventually applied $(($(grep -c '^applied' "$state/stream") + 10)) >/dev/null
  touch "$state/stop"
  wait "${streams[@]}"
  streams=()
  printf '   %d applies, %d refused\n' "$(grep -c '^applied' "$state/stream")" "$(grep -c '^refused' "$state/stream")"
}

none_refused() { ! grep '^refused' "$state/stream" && applied 20; }

logs_of() { local pod; pod=$(pod_of "$1"); kubectl logs "$pod" && kubectl get "$pod" -o 'jsonpath={.status.containerStatuses[0].started}' | grep -q true; }

none_ready() {
  local name
  for name in "$@"; do ! condition_is "$name" Ready True || return 1; done
}

evict() { # pod/NAME, as `kubectl drain` does it
  local name=${1#pod/}
  show kubectl create --raw "/api/v1/namespaces/default/pods/$name/eviction" -f - <<JSON
{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "$name", "namespace": "default"}}
JSON
}

no_pods_of() {
  local name left
  left=$(kubectl get pods -l streams.sentry.io/managed-by -o name)
  echo "$left"
  for name in "$@"; do ! grep -q "e2e-pipeline-$name-" <<<"$left" || return 1; done
}

no_operators() { [ -z "$(kubectl get pods "${operators[@]}" -o name)" ]; }
