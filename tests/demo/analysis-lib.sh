# What analysis.sh has besides lib.sh: Prometheus, what it scrapes, and questions about analyses and Deployments.

find_prometheus() { prometheus=$(tests/testkit/prometheus.sh) && [ -x "$prometheus/prometheus" ]; }

# free_port: one that nobody listens on now.
free_port() {
  local port
  while port=$((20000 + RANDOM % 20000)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

# Serves the latency of the Pods, and a Prometheus that asks for it every second.
start_metrics() {
  local exposition scraped
  scraped=127.0.0.1:$(free_port)
  prometheus_address=127.0.0.1:$(free_port)
  : >"$state/metrics"
  cat >"$state/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: consumers
  honor_labels: true
  static_configs: [{targets: ["$scraped"]}]
END
  printf 'url: http://%s\n' "$prometheus_address" >"$state/source.yaml"
  exposition=${CARGO_TARGET_DIR:-target}/debug/exposition
  "$exposition" --listen "$scraped" "$state/metrics" >"$state/exposition.log" 2>&1 &
  exposition_pid=$!
  start_prometheus
}

# Comes back with all that it had.
start_prometheus() {
  "$prometheus/prometheus" --config.file "$state/prometheus.yml" --storage.tsdb.path "$state/prometheus" \
    --web.listen-address "$prometheus_address" >>"$state/prometheus.log" 2>&1 &
  prometheus_pid=$!
  local port=${prometheus_address##*:} deadline=$((SECONDS + 60))
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    if ! kill -0 "$prometheus_pid" 2>/dev/null || [ $SECONDS -ge $deadline ]; then tail -n 20 "$state/prometheus.log"; return 1; fi
    sleep 0.2
  done
}

stop_prometheus() {
  [ -n "${prometheus_pid:-}" ] || return 0
  kill "$prometheus_pid" 2>/dev/null
  wait "$prometheus_pid" 2>/dev/null
  prometheus_pid=
}

stop_metrics() {
  stop_prometheus
  local pid
  for pid in ${expose_pid:-} ${exposition_pid:-}; do kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done
  expose_pid='' exposition_pid=''
}

end() {
  local code=$?
  stop_metrics
  (exit $code)
  finish
}

# What the Pods that live would say of themselves: a line each, by its image.
latencies() {
  kubectl get pods --field-selector status.phase=Running -o go-template='{{range .items}}{{.metadata.name}} {{range .spec.containers}}{{.image}} {{end}}{{"\n"}}{{end}}' |
    while read -r pod images; do
      case $images in *:slow*) latency=0.31 ;; *) latency=0.12 ;; esac
      printf 'consumer_latency_seconds{pod="%s",quantile="0.99"} %s\n' "$pod" "$latency"
    done
}

# Keeps the file that is scraped up to date.
expose() {
  while :; do
    latencies >"$state/metrics.new" && mv "$state/metrics.new" "$state/metrics"
    sleep 1
  done &
  expose_pid=$!
}

# is EXPECTED COMMAND...: prints exactly that.
is() {
  local expected=$1 seen; shift
  seen=$("$@" 2>&1)
  echo "$seen"; [ "$seen" = "$expected" ]
}

is_not() { # UNEXPECTED COMMAND...: prints something else
  local unexpected=$1 seen; shift
  seen=$("$@" 2>&1)
  echo "$seen"; [ -n "$seen" ] && [ "$seen" != "$unexpected" ]
}

ra() { field "ra/$1" "$2"; }

condition() { # OBJECT TYPE: status and reason
  field "$1" ".status.conditions[?(@.type==\"$2\")]['status','reason']" | tr ' ' '/'
}

both_conditions() { echo "$(condition ra/consumers "$1") $(condition ra/web "$1")"; }

message() { field "$1" ".status.conditions[?(@.type==\"$2\")].message"; }

names_metrics_unavailable() {
  local seen; seen=$(message spipe/parallel-processing Ready)
  echo "$seen"
  grep -qE 'analysis consumers has 0 of 2 passes; metrics unavailable since 20[0-9-]+T[0-9:]+Z: p99-latency: metrics source default cannot be reached: Connection refused' <<<"$seen"
}

paused_of() { field "deployment/$1" .spec.paused; }

# pausers DEPLOYMENT: the field managers that have spec.paused.
pausers() {
  kubectl get deployment "$1" --show-managed-fields -o go-template='{{range $entry := .metadata.managedFields}}{{range $field, $_ := index $entry.fieldsV1 "f:spec"}}{{if eq $field "f:paused"}}{{$entry.manager}}{{"\n"}}{{end}}{{end}}{{end}}'
}

pods_of_set() { # PIPELINE SET IMAGE: how many are Ready
  live_pods "$1" | awk -v set="$2" -v image="$3" '$2 == set && $4 == "True" && $5 == image' | wc -l
}

serves_old_image() {
  local n; n=$(kubectl get pods -l app=web -o 'jsonpath={range .items[*]}{.spec.containers[0].image}{"\n"}{end}' | grep -cx registry.example/web:2)
  [ "$n" -ge 2 ] && echo true || echo "$n of them"
}

events() { # KIND NAME REASON: their notes
  kubectl get events.events.k8s.io -o go-template='{{range .items}}{{.regarding.kind}} {{.regarding.name}} {{.reason}} {{.note}}{{"\n"}}{{end}}' |
    sed -n "s/^$1 $2 $3 //p"
}

event_says() { # KIND NAME REASON NOTE
  local seen; seen=$(events "$1" "$2" "$3")
  echo "$seen"; grep -Fxq -- "$4" <<<"$seen"
}

count_events() { events "$@" | wc -l; }
