#!/usr/bin/env bash
# The daemons of the real node. up.sh runs it as process 1 of process and mount namespaces of its own: when it dies, every
# daemon and container dies with it and every mount goes.
#   node.sh PROGRAMS_FOLDER
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
programs=$1
PATH=$programs:$PATH
mount --make-rshared /
for folder in /run/containerd /run/netns /var/lib/cni /var/log/containers; do
  mkdir -p $folder && mount -t tmpfs tmpfs $folder
done
cd "$dir"
start() { "$@" >>"logs/$1.log" 2>&1 & }

start etcd --data-dir etcd --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "$peer" \
  --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --unsafe-no-fsync --log-level error
start containerd --config containerd.toml
start kube-apiserver --etcd-servers="$etcd" --secure-port="$port" --advertise-address=$gateway \
  --tls-cert-file=api.crt --tls-private-key-file=api.key --client-ca-file=ca.crt --token-auth-file=tokens.csv \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
  --service-cluster-ip-range=$service_net --service-account-issuer=https://kubernetes.default.svc \
  --service-account-key-file=sa.key --service-account-signing-key-file=sa.key \
  --kubelet-preferred-address-types=InternalIP
until kubectl --kubeconfig admin.kubeconfig get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
start kube-controller-manager --kubeconfig=kcm.kubeconfig --use-service-account-credentials --leader-elect=false \
  --secure-port=0 --service-account-private-key-file=sa.key --root-ca-file=ca.crt \
  --cluster-signing-cert-file=ca.crt --cluster-signing-key-file=ca.key
start kube-scheduler --kubeconfig=scheduler.kubeconfig --leader-elect=false --secure-port=0
start kube-proxy --config proxy.yaml
until ctr -a "$dir/containerd.sock" version >/dev/null 2>&1; do sleep 0.1; done
for image in pause app; do
  ctr -a "$dir/containerd.sock" -n k8s.io images import "$programs/$image.tar" >>logs/import.log 2>&1
done
start kubelet --config kubelet.yaml --kubeconfig kubelet.kubeconfig --root-dir "$dir/kubelet" \
  --cert-dir "$dir/kubelet/pki" --hostname-override $node --node-ip $gateway
wait
