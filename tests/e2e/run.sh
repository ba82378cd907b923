#!/usr/bin/env bash
# `make e2e`: the chart and the image on a real node (tests/real-node: kubelet, containerd, kube-proxy; root is needed, Docker is
# not), and pipelines whose containers really start and fail.
#
# Every check asks the API server with kubectl. Nothing waits for a time, only for conditions. Last line:
#   e2e: N checks, N ok (S s)
# Exit code 1 when a check failed; the failed ones are named before the last line.
#
#   KEEP=1   leave the node running; the last two lines are how to use and how to stop it
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/e2e/lib.sh
trap finish EXIT

step "Building the image and starting the node"
IMAGE_PROFILE=${IMAGE_PROFILE:-ci} IMAGE_SBOM=no tests/image.sh || exit 1
start_node || exit 1
load_images || exit 1

step "A new user follows the README, from helm install to the first pipeline that is Ready"
commands_of_readme
begin=$SECONDS
check "every command of the README succeeds" bash -euo pipefail -c "$(commands_of_readme)"
echo "   from helm install to the first pipeline Ready: $((SECONDS - begin)) s"
check "the pipeline is Ready" condition_is simple-map-filter Ready True
check "two operators run, and both are Ready" operators_ready 2
check "they run without root and cannot write to their image" hardened
show kubectl get spipe,pods
check "streaming-operator check has nothing to say against it" program check
show program check

step "API server, Service, webhook, over TLS"
check "the API server calls a Service, and trusts the certificate that is served" webhook_is_a_service
refusal=$(kubectl apply -f tests/demo/broken.yaml 2>&1); refused=$?
echo "$refusal"
check "a broken manifest is refused, with every fault and its path" \
  test "$refused" -ne 0 -a -n "$(grep 'spec.pipeline_config.metrics.tags' <<<"$refusal")" -a -n "$(grep 'spec.container_template' <<<"$refusal")"
show kubectl apply -f tests/e2e/pipelines.yaml
check "a default is written: pipeline_name" test "$(field spipe/runs .spec.pipeline_name)" = runs

step "Containers that really start, and fail in every way"
check "a good one becomes Ready" eventually condition_is runs Ready True
check "its consumers run: their output is there" eventually logs_of runs
check "a missing Secret is named" eventually reports no-secret 'CreateContainerConfigError.*secret "kafka" not found'
check "an image that cannot be pulled is named, with the runtime's words" eventually reports no-image 'ErrImagePull\|ImagePullBackOff'
check "an end with exit code 1 is reported" eventually reports exits 'exit code 1'
check "and replaced, which an Event says with the count" eventually event_exists exits 'PodReplaced.*2 in a row'
check "running out of memory is reported" eventually reports out-of-memory OOMKilled
check "and replaced, which an Event says" eventually event_exists out-of-memory PodReplaced
check "a consumer whose liveness probe fails is replaced" eventually event_exists fails-liveness PodReplaced
check "a consumer whose readiness probe fails is reported when the deadline is over" eventually reports never-ready NotReady
check "and its rollout has passed its deadline" eventually condition_is never-ready Progressing False
check "none of them is Ready" none_ready never-ready exits out-of-memory no-image no-secret
show kubectl get spipe
show kubectl get events.events.k8s.io --field-selector reason=PodReplaced -o custom-columns=OF:.regarding.name,REASON:.reason,NOTE:.note

step "A Secret that comes late, a Pod that is drained"
show kubectl create secret generic kafka --from-literal=password=x
check "the pipeline goes on by itself" eventually condition_is no-secret Ready True
old=$(pod_of runs)
evict "$old"
check "a drained consumer comes back" eventually replaced runs "$old"
check "and the pipeline is Ready again" eventually condition_is runs Ready True

step "The operator is rolled while edits stream in"
show kubectl delete spipe exits out-of-memory fails-liveness never-ready no-image
check "Pods of deleted pipelines are gone" eventually no_pods_of exits out-of-memory fails-liveness never-ready no-image
before=$(uids)
stream
show kubectl rollout restart deployment/streaming-operator --namespace streaming-operator
check "the rolling update ends" kubectl rollout status deployment/streaming-operator --namespace streaming-operator --timeout "${WAIT}s"
check "the replicas from before are gone" eventually operators_ready 2
stop_stream
check "no apply was refused meanwhile" none_refused
check "no consumer was restarted" same_uids "$before"

step "The leading replica is deleted while edits stream in"
stream
was=$(holder)
show kubectl delete --namespace streaming-operator "$(leading_pod)" --wait=false
check "another replica leads" eventually another_holder "$was"
check "there are two again" eventually operators_ready 2
stop_stream
check "no apply was refused meanwhile" none_refused
check "no consumer was restarted" same_uids "$before"
old=$(pod_of runs)
show kubectl delete --wait=false "$old"
check "the new leader heals" eventually replaced runs "$old"
check "and the pipeline is Ready again" eventually condition_is runs Ready True

step "helm uninstall, with pipelines in the cluster"
before=$(uids)
show helm uninstall streaming-operator --namespace streaming-operator --wait
check "nothing of the release is asked at an edit any more" webhook_is_gone
check "an edit works without it" kubectl patch spipe runs --type merge -p '{"spec":{"log_level":"DEBUG"}}'
check "pipelines stay" kubectl get spipe/runs spipe/simple-map-filter
check "consumers run on" same_uids "$before"
check "the operators are gone" eventually no_operators
show kubectl delete spipe --all --wait=false
check "without an operator pipelines can be deleted, and their Pods go" eventually no_pods_of runs no-secret
