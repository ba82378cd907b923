#!/usr/bin/env bash
# Installs the Python operator that this one replaces, once, outside the checkout. The last line is its program.
set -euo pipefail
version=0.0.10
cache=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/python-operator
venv=$cache/$version
mkdir -p "$cache"
(
  flock 9
  if [ ! -e "$venv/ready" ]; then
    echo "python-operator: installing sentry-streams-k8s $version into $venv" >&2
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "sentry-streams-k8s[operator]==$version" >&2
    touch "$venv/ready"
  fi
) 9> "$cache/lock"
echo "$venv/bin/streams-k8s-operator"
