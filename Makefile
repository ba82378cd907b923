# `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## the release binary: target/release/streaming-operator
	cargo build --release --locked

.PHONY: generate
generate: ## write crds/ (and the chart's copy), webhook-config/, docs/reasons.md and docs/rules.md
	cargo run --quiet --locked -- crd streamingpipelines > crds/.new
	mv crds/.new crds/streams.sentry.io_streamingpipelines.yaml
	cargo run --quiet --locked -- crd rolloutanalyses > crds/.new
	mv crds/.new crds/streams.sentry.io_rolloutanalyses.yaml
	cp crds/*.yaml chart/files/crds/
	cargo run --quiet --locked -- webhook-config > webhook-config/.new
	mv webhook-config/.new webhook-config/webhooks.yaml
	cargo run --quiet --locked -- reasons > docs/.new
	mv docs/.new docs/reasons.md
	cargo run --quiet --locked -- rules > docs/.new
	mv docs/.new docs/rules.md

.PHONY: manifests
manifests: ## what the chart installs as one plain file, target/install.yaml: VALUES=FILE NAMESPACE=NAME
	@tests/manifests.sh $(VALUES)

.PHONY: image
image: ## the image as an OCI archive and its bill of materials, without Docker: target/image/
	@tests/image.sh

.PHONY: e2e
e2e: ## chart and image on a real node, with containers that run and fail (root; KEEP=1 leaves it running)
	@tests/e2e/run.sh

.PHONY: lint
lint: ## formatting, clippy, generated files, chart
	tests/lint.sh

.PHONY: test
test: ## all tests (real API servers included)
	tests/run.sh

.PHONY: soak
soak: ## longer runs of the same tests: ONLY=analyses|core|idle|model|rollouts|ha|races|crash|migration
	@tests/soak.sh $(ONLY)

.PHONY: bench
bench: ## measure; writes target/bench/NAME.json: ONLY=render|admission|reaction, or all
	@tests/bench.sh $(ONLY)

.PHONY: fuzz
fuzz: ## arbitrary specs against validation, rendering and planning for SECONDS (60)
	@tests/fuzz.sh $(SECONDS)

.PHONY: control-plane
control-plane: ## build etcd, kube-apiserver, kubectl, kwok, helm ...; the last line is their folder
	@tests/control-plane/build.sh

.PHONY: demo
demo: ## the product at work on a real API server (KEEP=1 leaves it running); ANALYSIS=1: rollouts that a metric holds
	@tests/demo/$(if $(ANALYSIS),analysis,run).sh
