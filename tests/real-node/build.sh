#!/usr/bin/env bash
# Builds what a real node needs beside the control plane (kubelet, kube-proxy, containerd and the test program with its
# images), from Go modules, and prints the folder that holds it all alone on the last line of stdout. All else goes to
# stderr.
#
# The folder lies outside the checkout and is keyed by the go.mod files, as that of ../control-plane/build.sh is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubernetes=$here/../control-plane/kubernetes
assets=$("$here/../control-plane/build.sh")
key=$(cat "$kubernetes/go.mod" "$here/containerd/go.mod" | sha256sum | cut -c1-12)
built=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/real-node/$key
mkdir -p "$built"

say() { echo "real node: $*" >&2; }

# build PROGRAM FOLDER PACKAGE [LDFLAGS]: nothing to do when the program is there. Written beside and renamed, so that a
# build that was killed leaves no half program.
build() {
  local program=$1 folder=$2 package=$3 start=$SECONDS
  [ -x "$built/$program" ] && return 0
  command -v go >/dev/null || { say "go is needed to build $program (https://go.dev/doc/install)"; exit 1; }
  say "building $program (once; kept in $built)"
  (cd "$folder" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w ${4:-}" -o "$built/.$program.new" "$package" >&2)
  mv "$built/.$program.new" "$built/$program"
  say "$program built in $((SECONDS - start)) s"
}

exec 9>"$built/.lock"
flock 9
# Without its version a kubelet calls itself v0.0.0-master, and captured documents would not say what made them.
version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$kubernetes/go.mod")
stamp="-X k8s.io/component-base/version.gitVersion=$version"
for program in kubelet kube-proxy; do
  build $program "$kubernetes" k8s.io/kubernetes/cmd/$program "$stamp"
done
containerd=github.com/containerd/containerd/v2
stamp="-X $containerd/version.Version=$(awk -v m=$containerd '$1 == m { print $2; exit }' "$here/containerd/go.mod")"
for program in containerd containerd-shim-runc-v2 ctr; do
  build $program "$here/containerd" $containerd/cmd/$program "$stamp"
done
for program in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm; do
  ln -sfn "$(readlink -f "$assets/$program")" "$built/$program"
done

# The test program is small and its source is ours: made again each time, from Go's build cache.
(cd "$here/testapp" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$built/app" . >&2)
"$here/mkimage.py" "$built/pause.tar" localhost/pause:1 "$built/app" --entrypoint /app pause
# Under the names that a consumer's Pod runs: `python -m sentry_streams.runner ...` and its probe `rm /tmp/health.txt`.
"$here/mkimage.py" "$built/app.tar" localhost/app:1 "$built/app" --link bin/python --link bin/rm --entrypoint /app
echo "$built"
