#!/usr/bin/env bash
# Ends what up.sh started and removes its traces; the built programs stay.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if [ -e "$dir/pid" ]; then
  pid=$(cat "$dir/pid")
  # Its number may be another's by now. --kill-child takes all its processes along.
  while [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = unshare ]; do
    kill -KILL "$pid" 2>/dev/null
    sleep 0.1
  done
fi
ip link del $bridge 2>/dev/null
for family in ip ip6; do nft delete table $family kube-proxy 2>/dev/null; done
[ ! -e "$dir/ip_forward" ] || cat "$dir/ip_forward" >/proc/sys/net/ipv4/ip_forward
for root in $(cgroups); do
  # The kernel lets go of a cgroup some time after its last process.
  for ((i = 0; i < 50; i++)); do
    [ -d "$root/so-node" ] || break
    find "$root/so-node" -depth -type d -exec rmdir {} + 2>/dev/null
    sleep 0.1
  done
done
rm -rf "$dir"
