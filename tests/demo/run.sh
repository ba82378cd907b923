#!/usr/bin/env bash
# `make demo`: the product at work on a real API server, on a machine that has Rust and Go and nothing else.
#
# Every check asks the API server with kubectl, as a user would, and never the operator. Last line:
#   demo: N checks, N ok (S s)
# Exit code 1 when a check failed; the failed ones are named before the last line.
#
#   DEMO_BREAK=controller|webhook   run with that half of the operator off (the demo must then fail)
#   KEEP=1                          leave everything running; the last two lines are how to use and how to stop it
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/demo/lib.sh

trap finish EXIT

step "Building what is missing"
timed "control plane (etcd, kube-apiserver, kwok, kubectl, helm)" build_control_plane
timed "operator and devcluster" cargo build --locked --quiet --package streaming-operator --package testkit --bins
[ "$failed_builds" -eq 0 ] || exit 1

step "Starting etcd, kube-apiserver, two kwok nodes and the operator"
timed "cluster" start_cluster || exit 1

step "A user applies the examples"
show kubectl apply -f examples/
check "every example is admitted" test "$(count streamingpipelines)" -eq 4
for name in simple-map-filter parallel-processing transformer-parse transformer-write; do
  check "$name becomes Ready" kubectl wait --for=condition=Ready "spipe/$name" --timeout="${WAIT}s"
done
show kubectl get spipe,pods
check "simple-map-filter runs 3 Pods, all Ready" eventually ready_pods_are simple-map-filter 3
check "parallel-processing runs 3 primary Pods and 1 canary" eventually sets_are parallel-processing 3 1
check "two segments of one pipeline mount ConfigMaps of their own" segments_have_own_config
check "a Pod belongs to its pipeline, so that garbage collection and drain know it" pod_is_owned simple-map-filter

step "A manifest of the Python operator without pipeline_name gets its defaults"
show kubectl apply -f tests/demo/unnamed.yaml
check "the webhook wrote pipeline_name" test "$(field spipe/unnamed-pipeline .spec.pipeline_name)" = unnamed-pipeline

step "A new image is rolled out Pod by Pod"
witness simple-map-filter
show kubectl patch spipe simple-map-filter --type merge -p '{"spec":{"image_name":"registry.example/sentry-streams:0.0.70"}}'
check "all Pods run the new image" eventually images_are simple-map-filter registry.example/sentry-streams:0.0.70 3
check "the pipeline is Ready again" eventually condition_is simple-map-filter Ready True
show_witness
check "never fewer than 2 of 3 Pods were Ready meanwhile" witness_kept 2
show kubectl get spipe simple-map-filter

step "A Pod fails and comes back"
old=$(pod_of simple-map-filter primary 1)
show kubectl patch pod "${old:-none}" --subresource=status --type merge -p "$(cat tests/demo/failed-status.json)"
check "another Pod of that ordinal takes its place" eventually replaced simple-map-filter 1 "$old"
check "the pipeline has its 3 Ready Pods again" eventually ready_pods_are simple-map-filter 3
check "an Event tells of it" eventually event_exists simple-map-filter PodReplaced

step "A bad image never reaches more Pods than the budget"
show kubectl patch spipe simple-map-filter --type merge -p '{"spec":{"image_name":"registry.example/sentry-streams:bad"}}'
check "the broken Pod is reported by its reason" eventually reports simple-map-filter ImagePull
check "2 of 3 Pods still run" ready_pods_are simple-map-filter 2
show kubectl get spipe simple-map-filter
show kubectl patch spipe simple-map-filter --type merge -p '{"spec":{"image_name":"registry.example/sentry-streams:0.0.70"}}'
check "the image before it brings all 3 back" eventually ready_pods_are simple-map-filter 3

step "A broken manifest is refused, with all its faults at once"
refusal=$(kubectl apply -f tests/demo/broken.yaml 2>&1); refused=$?
printf '%s\n' "\$ kubectl apply -f tests/demo/broken.yaml" "$refusal"
check "it is refused" test "$refused" -ne 0
check "every fault is named with its path" names_all "$refusal" \
  'spec.pipeline_config.metrics' 'spec.pipeline_config.pipeline.segments\[0\].steps_config.parse' 'spec.container_template' 'spec.deployment_template'

step "A pipeline whose names would collide is refused"
refusal=$(kubectl apply -f tests/demo/colliding.yaml 2>&1); refused=$?
printf '%s\n' "\$ kubectl apply -f tests/demo/colliding.yaml" "$refusal"
check "it is refused" test "$refused" -ne 0
check "the refusal names the holder" names_all "$refusal" simple-map-filter

step "Somebody else's Pod under one of our names is left alone"
show kubectl apply -f tests/demo/foreign-pod.yaml
foreign=$(field pod/foreign-pipeline-taken-0-0-0 .metadata.uid)
show kubectl apply -f tests/demo/taken.yaml
check "the pipeline says NameCollision" eventually reason_is taken NameCollision
check "the Pod is the same as before" test -n "$foreign" -a "$(field pod/foreign-pipeline-taken-0-0-0 .metadata.uid)" = "$foreign"
check "nobody put a label of ours on it" test -z "$(field pod/foreign-pipeline-taken-0-0-0 '.metadata.labels.streams\.sentry\.io/owner-uid')"

step "Scaling and deleting"
show kubectl scale spipe/simple-map-filter --replicas=5
check "kubectl scale brings 5 Pods" eventually ready_pods_are simple-map-filter 5
show kubectl delete spipe transformer-write
check "the Pods of a deleted pipeline are gone" eventually ready_pods_are transformer-write 0

step "What a user sees"
show kubectl get spipe,pods
show kubectl events --types=Normal,Warning
