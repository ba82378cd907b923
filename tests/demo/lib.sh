# What run.sh is made of. Each question is asked of the API server with kubectl.

WAIT=${DEMO_WAIT_SECONDS:-60}
state=$(mktemp -d "${TMPDIR:-/tmp}/streaming-operator-demo.XXXXXX")
failed_builds=0
finished=0
source tests/checks.sh

# timed WHAT COMMAND...: says how long it took.
timed() {
  local what=$1 start=$SECONDS; shift
  if "$@"; then printf '   %s: %d s\n' "$what" $((SECONDS - start)); return 0; fi
  printf '   %s: failed after %d s\n' "$what" $((SECONDS - start))
  failed_builds=$((failed_builds + 1))
  return 1
}

build_control_plane() {
  assets=$(tests/control-plane/build.sh) || return 1
  export STREAMING_OPERATOR_ASSETS=$assets
  PATH=$assets:$PATH
}

start_cluster() { # FLAG...: of the operator's run
  local flags=("$@")
  case ${DEMO_BREAK:-} in
    "") ;;
    controller) flags+=(--controller-enabled=false) ;;
    webhook) flags+=(--webhook-enabled=false) ;;
    *) echo "DEMO_BREAK is controller or webhook, not ${DEMO_BREAK}"; return 1 ;;
  esac
  local target=${CARGO_TARGET_DIR:-target}/debug
  setsid "$target/devcluster" up --dir "$state/cluster" --nodes 2 --operator "$target/streaming-operator" -- "${flags[@]}" \
    >"$state/devcluster.log" 2>&1 &
  local deadline=$((SECONDS + 120))
  until [ -s "$state/cluster/ready" ]; do
    if ! kill -0 $! 2>/dev/null || [ $SECONDS -ge $deadline ]; then tail -n 30 "$state/devcluster.log"; return 1; fi
    sleep 0.2
  done
  export KUBECONFIG=$state/cluster/admin.kubeconfig
  stop="${target}/devcluster stop --dir $state/cluster"
}

finish() {
  local code=$?
  [ $finished -eq 0 ] || return
  finished=1
  stop_witness
  if [ -n "${stop:-}" ] && [ -z "${KEEP:-}" ]; then $stop >/dev/null 2>&1; fi
  sum_up demo || code=1
  if [ -n "${stop:-}" ] && [ -n "${KEEP:-}" ]; then
    printf 'export KUBECONFIG=%s\n%s\n' "$KUBECONFIG" "$stop"
  else
    rm -rf "$state"
  fi
  trap - EXIT
  exit $code
}

count() { kubectl get "$1" -o name | wc -l; }

selector() { echo "streams.sentry.io/owner-uid=$(field "spipe/$1" .metadata.uid)"; }

# live_pods PIPELINE: name, set, ordinal, Ready, image of each that is neither terminating nor ended.
live_pods() {
  local uid
  uid=$(field "spipe/$1" .metadata.uid)
  [ -n "$uid" ] || return 0
  kubectl get pods -l "streams.sentry.io/owner-uid=$uid" -o go-template='{{range .items}}{{if and (not .metadata.deletionTimestamp) (ne .status.phase "Failed") (ne .status.phase "Succeeded")}}{{.metadata.name}} {{index .metadata.labels "streams.sentry.io/workload-set"}} {{index .metadata.labels "streams.sentry.io/ordinal"}} {{$ready := "False"}}{{range .status.conditions}}{{if eq .type "Ready"}}{{$ready = .status}}{{end}}{{end}}{{$ready}} {{range .spec.containers}}{{.image}}{{end}}{{"\n"}}{{end}}{{end}}'
}

ready_pods_are() { # PIPELINE N; a deleted pipeline has none by definition of its label, so ask by its name
  if [ "$2" -eq 0 ]; then
    local left
    left=$(kubectl get pods -o go-template='{{range .items}}{{with index .metadata "annotations"}}{{index . "streams.sentry.io/owner-name"}}{{"\n"}}{{end}}{{end}}' | grep -cx "$1")
    echo "$left Pods left"; [ "$left" -eq 0 ]; return
  fi
  local n; n=$(live_pods "$1" | awk '$4 == "True"' | wc -l)
  echo "$n Ready Pods"; [ "$n" -eq "$2" ]
}

sets_are() { # PIPELINE PRIMARIES CANARIES
  local pods; pods=$(live_pods "$1")
  echo "$pods"
  [ "$(grep -c ' primary ' <<<"$pods")" -eq "$2" ] && [ "$(grep -c ' canary ' <<<"$pods")" -eq "$3" ]
}

images_are() { # PIPELINE IMAGE N
  local pods; pods=$(live_pods "$1")
  echo "$pods"
  [ "$(awk -v image="$2" '$4 == "True" && $5 == image' <<<"$pods" | wc -l)" -eq "$3" ] && [ "$(wc -l <<<"$pods")" -eq "$3" ]
}

config_of() { kubectl get pods -l "$(selector "$1")" -o 'jsonpath={.items[0].spec.volumes[?(@.name=="pipeline-config")].configMap.name}'; }

segments_have_own_config() {
  local a b
  a=$(config_of transformer-parse); b=$(config_of transformer-write)
  echo "$a $b"
  [ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ] && kubectl get configmap "$a" "$b"
}

pod_is_owned() {
  local owner; owner=$(kubectl get pods -l "$(selector "$1")" -o 'jsonpath={.items[0].metadata.ownerReferences[0].uid}')
  echo "owner $owner"; [ -n "$owner" ] && [ "$owner" = "$(field "spipe/$1" .metadata.uid)" ]
}

pod_of() { live_pods "$1" | awk -v set="$2" -v ordinal="$3" '$2 == set && $3 == ordinal { print $1; exit }'; } # PIPELINE SET ORDINAL

replaced() { # PIPELINE ORDINAL OLD
  local now; now=$(pod_of "$1" primary "$2")
  echo "ordinal $2 is $now"; [ -n "$3" ] && [ -n "$now" ] && [ "$now" != "$3" ]
}

# witness PIPELINE: writes down the number of Ready Pods at each change, from a watch of the API server.
witness() {
  stop_witness
  kubectl get pods -l "$(selector "$1")" --watch --output-watch-events -o go-template='{{$o := .}}{{with .object}}{{$o = .}}{{end}}{{.type}} {{$o.metadata.name}} {{if $o.metadata.deletionTimestamp}}terminating{{else}}live{{end}} {{$ready := "False"}}{{range $o.status.conditions}}{{if eq .type "Ready"}}{{$ready = .status}}{{end}}{{end}}{{$ready}}{{"\n"}}' \
    >"$state/witness" 2>/dev/null &
  witness_pid=$!
  eventually test -s "$state/witness" >/dev/null
}

stop_witness() { [ -z "${witness_pid:-}" ] || kill "$witness_pid" 2>/dev/null; witness_pid=; }

# The number of Ready Pods after each line of the witness, once the first three (the list) are in.
ready_over_time() {
  awk '{ if ($1 == "DELETED" || $3 != "live" || $4 != "True") delete ready[$2]; else ready[$2] = 1
         n = 0; for (p in ready) n++; if (n >= 3) begun = 1; if (begun) print n, $1, $2, $3, $4 }' "$state/witness"
}

show_witness() { stop_witness; echo "   Ready Pods at each change:"; ready_over_time | sed 's/^/      /'; }

witness_kept() { # FLOOR
  local least; least=$(ready_over_time | sort -n | head -n 1 | cut -d' ' -f1)
  echo "least $least"; [ -n "$least" ] && [ "$least" -ge "$1" ] && [ "$(ready_over_time | wc -l)" -gt 3 ]
}
