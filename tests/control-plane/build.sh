#!/usr/bin/env bash
# Builds the real Kubernetes servers and tools that the tests run against, from Go modules, and prints the
# folder that holds them alone on the last line of stdout. All else goes to stderr.
#
# The folder lies outside the checkout and is keyed by the go.mod files, so that a clean checkout finds what an
# earlier one built. KUBEBUILDER_ASSETS (controller-runtime's convention): its etcd, kube-apiserver and kubectl
# are used where present; the rest is built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/control-plane
key=$(cat "$here"/{kubernetes,kwok,helm}/go.mod | sha256sum | cut -c1-12)
built=$cache/$key
mkdir -p "$built"

# The version must be stamped in, or the server calls itself v0.0.0-master and clients warn.
version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$here/kubernetes/go.mod")
minor=${version#v1.}; minor=${minor%%.*}
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"

say() { echo "control plane: $*" >&2; }

# build PROGRAM MODULE PACKAGE: nothing to do when the program is there. Written beside and renamed, so that a build
# that was killed leaves no half program.
build() {
  local program=$1 module=$2 package=$3 start=$SECONDS
  [ -x "$built/$program" ] && return 0
  command -v go >/dev/null || { say "go is needed to build $program (https://go.dev/doc/install)"; exit 1; }
  say "building $program (once; kept in $built)"
  (cd "$here/$module" && CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "$built/.$program.new" "$package" >&2)
  mv "$built/.$program.new" "$built/$program"
  say "$program built in $((SECONDS - start)) s"
}

# The stages that make a kwok node behave like an ordinary kubelet are files of kwok's own module.
stages() {
  [ -d "$built/kwok-stages" ] && return 0
  (cd "$here/kwok" && go mod download sigs.k8s.io/kwok >&2)
  local source
  source=$(cd "$here/kwok" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  rm -rf "$built/.kwok-stages.new"
  cp -r "$source" "$built/.kwok-stages.new"
  chmod -R u+w "$built/.kwok-stages.new"
  mv "$built/.kwok-stages.new" "$built/kwok-stages"
}

# given PROGRAM: whether KUBEBUILDER_ASSETS has it.
given() { [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; }

# Two builds at once would only take each other's time.
exec 9>"$built/.lock"
flock 9
given etcd || build etcd kubernetes go.etcd.io/etcd/server/v3
for program in kube-apiserver kubectl; do
  given $program || build $program kubernetes k8s.io/kubernetes/cmd/$program
done
for program in kube-controller-manager kube-scheduler; do
  build $program kubernetes k8s.io/kubernetes/cmd/$program
done
build kwok kwok sigs.k8s.io/kwok/cmd/kwok
build helm helm helm.sh/helm/v4/cmd/helm
stages

if [ -z "${KUBEBUILDER_ASSETS:-}" ]; then
  echo "$built"
  exit 0
fi
# One folder for callers all the same: links to what is given, and to what was built.
assets=$(cd "$KUBEBUILDER_ASSETS" && pwd)
joined=$cache/$key-$(printf %s "$assets" | sha256sum | cut -c1-12)
mkdir -p "$joined"
for program in etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kwok helm kwok-stages; do
  if [ -x "$assets/$program" ] && given "$program" && [[ $program =~ ^(etcd|kube-apiserver|kubectl)$ ]]; then
    ln -sfn "$assets/$program" "$joined/$program"
  else
    ln -sfn "$built/$program" "$joined/$program"
  fi
done
echo "$joined"
