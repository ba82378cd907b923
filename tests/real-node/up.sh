#!/usr/bin/env bash
# A real Kubernetes cluster of one node on this machine (root; no Docker, no systemd): etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kube-proxy, containerd and kubelet. Prints two `export` lines when the node is
# Ready; down.sh ends it and removes every trace but the built programs. See README.md and, for variables, lib.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/lib.sh"
source "$here/config.sh"

need() { command -v "$1" >/dev/null || { say "$1 is missing: apt-get install $2"; exit 1; }; }
[ "$(id -u)" = 0 ] || { say "this needs root"; exit 1; }
[ ! -e "$dir/pid" ] || { say "$dir is in use: run down.sh first"; exit 1; }
need runc runc
need nft nftables
need ip iproute2
need openssl openssl
need unshare util-linux
need python3 python3
need /usr/lib/cni/bridge containernetworking-plugins

network() {
  ip link add $bridge type bridge
  ip addr add $gateway/16 dev $bridge
  ip link set $bridge up
  cat /proc/sys/net/ipv4/ip_forward >"$dir/ip_forward"
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

ready() {
  local seen
  seen=$(kubectl get node $node -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)
  [ "$seen" = True ] && kubectl get serviceaccount default >/dev/null 2>&1
}

programs=$("$here/build.sh")
mkdir -p "$dir/logs"
cd "$dir"
users
certificates
containerd_config
kubelet_config
proxy_config
network
for root in $(cgroups); do mkdir -p "$root/so-node"; done
export REAL_NODE_DIR=$dir REAL_NODE_PORT=$port
setsid unshare --mount --pid --fork --kill-child --mount-proc "$here/node.sh" "$programs" >logs/node.log 2>&1 </dev/null &
echo $! >pid

export KUBECONFIG=$dir/admin.kubeconfig PATH=$programs:$PATH
deadline=$((SECONDS + 120))
until ready; do
  if ! kill -0 "$(cat pid)" 2>/dev/null || [ $SECONDS -ge $deadline ]; then
    say "the node did not become Ready: see $dir/logs"
    exit 1
  fi
  sleep 0.2
done
echo "export KUBECONFIG=$KUBECONFIG"
echo "export PATH=$programs:\$PATH"
