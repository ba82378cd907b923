#!/usr/bin/env bash
# `make demo ANALYSIS=1`: rollouts that a metric holds, on a real API server and with a real Prometheus.
#
# The Pods are simulated, so what they would say of themselves is served by a program of the tests: a Pod of an image `slow`
# has a latency of 0.31 s, any other one of 0.12 s. Every check asks the API server with kubectl. Last line:
#   demo: N checks, N ok (S s)
# Exit code 1 when a check failed; the failed ones are named before the last line. KEEP=1 leaves everything running but
# Prometheus and that program.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/demo/lib.sh
source tests/demo/analysis-lib.sh

trap end EXIT

step "Building what is missing"
timed "control plane (etcd, kube-apiserver, kwok, kubectl, helm)" build_control_plane
timed "Prometheus" find_prometheus
timed "operator, devcluster and exposition" cargo build --locked --quiet --package streaming-operator --package testkit --bins
[ "$failed_builds" -eq 0 ] || exit 1

step "Starting Prometheus, etcd, kube-apiserver, two kwok nodes and the operator"
timed "Prometheus" start_metrics || exit 1
timed "cluster" start_cluster "--metrics-source=default=$state/source.yaml" || exit 1
show cat "$state/source.yaml"

step "A pipeline with a canary and a Deployment run, each with an analysis"
show kubectl apply -f examples/parallel-processing-canary.yaml -f tests/demo/web.yaml
check "the pipeline becomes Ready" kubectl wait --for=condition=Ready spipe/parallel-processing --timeout="${WAIT}s"
check "the Deployment is rolled out" kubectl rollout status deployment/web --timeout="${WAIT}s"
expose
show kubectl apply -f tests/demo/analysis.yaml
check "the analyses find their targets" eventually is "True/TargetFound True/TargetFound" both_conditions TargetFound
check "nothing is paused" is "" paused_of web

step "Whoever writes an analysis tries its queries first"
query() { target/debug/streaming-operator query -f tests/demo/analysis.yaml --metrics-source "default=$state/source.yaml"; }
check "Prometheus has the latency of the Pods" eventually query
show query

step "A slow image reaches the canary, and no other Pod"
show kubectl patch spipe parallel-processing --type merge -p '{"spec":{"image_name":"registry.example/sentry-streams:slow"}}'
check "the analysis fails the revision" eventually is "Failed" ra consumers .status.verdict
show kubectl get ra
check "two measurements failed" is "2" ra consumers .status.failures
check "Ready says RegressionDetected" is "False/RegressionDetected" condition ra/consumers Ready
check "RegressionDetected" is "True/RegressionDetected" condition ra/consumers RegressionDetected
check "RolloutPaused, and why" is "True/RegressionDetected" condition ra/consumers RolloutPaused
slow=$(ra consumers .status.targetRevision)
check "the message has metric, value, limit and revision" is \
  "metric regression detected: p99-latency = 0.31 > 0.25 (revision $slow)" message ra/consumers RolloutPaused
check "the pipeline is held" eventually is "False/RolloutFailed" condition spipe/parallel-processing Ready
check "the three primary Pods still run the old image" is "3" pods_of_set parallel-processing primary registry.example/sentry-streams:0.0.69
check "an Event of the analysis tells" eventually event_says RolloutAnalysis consumers RolloutPaused \
  "metric regression detected: p99-latency = 0.31 > 0.25 (revision $slow)"
check "an Event of the pipeline tells" eventually event_says StreamingPipeline parallel-processing RolloutPaused \
  "analysis consumers: metric regression detected: p99-latency = 0.31 > 0.25 (revision $slow)"
show kubectl get spipe parallel-processing

step "Prometheus is stopped: that is an outage, no regression"
stop_prometheus
check "the analysis says MetricsUnavailable" eventually is "False/MetricsUnavailable" condition ra/consumers Ready
check "MetricsUnavailable" is "True/MetricsUnavailable" condition ra/consumers MetricsUnavailable
show kubectl get ra
check "the verdict stays" is "Failed" ra consumers .status.verdict
check "nothing is counted" is "2" ra consumers .status.failures

step "A good image, while Prometheus is away: the gate stays shut, and nothing fails"
show kubectl patch spipe parallel-processing --type merge -p '{"spec":{"image_name":"registry.example/sentry-streams:good"}}'
check "the analysis begins afresh with the new revision" eventually is_not "$slow" ra consumers .status.targetRevision
check "the pipeline awaits the analysis" eventually is "False/AwaitingAnalysis" condition spipe/parallel-processing Ready
check "the analysis has no verdict" eventually is "Unavailable" ra consumers .status.verdict
check "the pipeline says since when metrics are unavailable" eventually names_metrics_unavailable
show kubectl get ra
check "no measurement failed" is "0" ra consumers .status.failures
check "no measurement passed" is "0" ra consumers .status.passes
check "nothing is paused for the outage" is "False/AsExpected" condition ra/consumers RolloutPaused
check "no Event says that metrics are available" is "0" count_events RolloutAnalysis consumers MetricsAvailable
check "one Event says RolloutPaused, that of the slow image" is "1" count_events RolloutAnalysis consumers RolloutPaused
check "the Deployment is not paused" is "" paused_of web
check "nobody but its owner has a word on its pause" is "" pausers web

step "The Deployment is updated meanwhile, and its rollout is not held either"
show kubectl set image deployment/web web=registry.example/web:2
check "it is rolled out" kubectl rollout status deployment/web --timeout="${WAIT}s"
check "no measurement of it failed" is "0" ra web .status.failures
check "it is not paused" is "" paused_of web

step "Prometheus comes back, and the good image completes"
start_prometheus
check "metrics are available" eventually is "False/MetricsAvailable" condition ra/consumers MetricsUnavailable
check "the analysis passes the revision" eventually is "Passed" ra consumers .status.verdict
check "Ready says Passed" is "True/Passed" condition ra/consumers Ready
check "all four Pods run the good image" eventually images_are parallel-processing registry.example/sentry-streams:good 4
check "the pipeline is Ready" eventually condition_is parallel-processing Ready True
show kubectl get ra

step "A Deployment whose new image is slow is held by its analysis"
show kubectl set image deployment/web web=registry.example/web:slow
check "the analysis fails the template" eventually is "Failed" ra web .status.verdict
check "spec.paused is true" eventually is "true" paused_of web
check "and the analysis has it, under its own field manager" is "streaming-operator/ra-$(field ra/web .metadata.uid)" pausers web
check "RolloutPaused" eventually is "True/RegressionDetected" condition ra/web RolloutPaused
held=$(ra web .status.targetRevision)
check "an Event of the Deployment tells" eventually event_says Deployment web RolloutPaused \
  "analysis web: metric regression detected: p99-latency = 0.31 > 0.25 (revision ${held:0:10})"
check "Pods of the old image still serve" is "true" serves_old_image
show kubectl get ra
show kubectl get deployment web

step "Its template is fixed: the pause goes at once"
show kubectl set image deployment/web web=registry.example/web:3
check "spec.paused is gone" eventually is "" paused_of web
check "nobody has a word on the pause" is "" pausers web
check "RolloutPaused=False" eventually is "False/AsExpected" condition ra/web RolloutPaused
check "an Event of the Deployment tells" eventually event_says Deployment web RolloutResumed \
  "analysis web: the target is at another revision ($(ra web .status.targetRevision | cut -c 1-10))"
check "the fixed image is rolled out" kubectl rollout status deployment/web --timeout="${WAIT}s"

step "What a user sees"
show kubectl get ra,spipe,deployments
show kubectl events --for ra/consumers
show kubectl events --for deployment/web
