# Keys and configuration files of the real node, written into the current folder. Sourced by up.sh after lib.sh.

# kubeconfig NAME: for the user whose token that is.
kubeconfig() {
  cat >"$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: r, cluster: {server: "https://$gateway:$port", certificate-authority: $dir/ca.crt}}]
users: [{name: u, user: {token: $1-$secret}}]
contexts: [{name: r, context: {cluster: r, user: u}}]
current-context: r
YAML
  chmod 600 "$1.kubeconfig"
}

users() {
  secret=$(openssl rand -hex 16)
  (umask 077 && cat >tokens.csv) <<CSV
admin-$secret,admin,admin,system:masters
kcm-$secret,system:kube-controller-manager,kcm
scheduler-$secret,system:kube-scheduler,scheduler
proxy-$secret,system:kube-proxy,proxy
kubelet-$secret,system:node:$node,kubelet,system:nodes
CSV
  local user
  for user in admin kcm scheduler proxy kubelet; do kubeconfig $user; done
}

certificates() {
  local names="IP:127.0.0.1,IP:$gateway,IP:$service_ip,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  openssl genrsa -out sa.key 2048 2>/dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=real-node-ca 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -keyout api.key -subj /CN=kube-apiserver 2>/dev/null |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out api.crt \
      -extfile <(echo "subjectAltName=$names") 2>/dev/null
}

# restrict_oom_score_adj: without it no container starts where the machine gives us no CAP_SYS_RESOURCE.
# The registry is a closed port of this machine, so that a pull fails at once instead of waiting for a network.
containerd_config() {
  mkdir -p registry/_default cni
  echo 'server = "http://127.0.0.1:1"' >registry/_default/hosts.toml
  cat >containerd.toml <<TOML
version = 3
root = '$dir/containerd'
state = '$dir/containerd-state'
[grpc]
address = '$dir/containerd.sock'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = 'localhost/pause:1'
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '$dir/registry'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['/usr/lib/cni']
conf_dir = '$dir/cni'
TOML
  cat >cni/net.conflist <<JSON
{"cniVersion": "1.0.0", "name": "node", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$dir/ipam", "ranges": [[{"subnet": "$pod_net", "gateway": "$gateway"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
}

# failCgroupV1: 1.36 refuses such machines else. makeIPTablesUtilChains: those chains would stay behind.
# imageGC and eviction: a full disk of the machine must not take images and Pods away from the tests.
# clusterDNS names nobody: it silences an Event; there is no DNS in this cluster.
kubelet_config() {
  cat >kubelet.yaml <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $gateway
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$dir/containerd.sock
podLogsDir: $dir/pod-logs
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
cgroupDriver: cgroupfs
cgroupRoot: /so-node
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
serializeImagePulls: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%, imagefs.inodesFree: 1%}
${REAL_NODE_KUBELET:-}
YAML
}

# nftables, so that no iptables is needed; maxPerCore 0: no sysctl is written.
proxy_config() {
  cat >proxy.yaml <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: $pod_net
hostnameOverride: $node
bindAddress: $gateway
healthzBindAddress: "$gateway:10256"
metricsBindAddress: "$gateway:10249"
clientConnection: {kubeconfig: $dir/proxy.kubeconfig}
conntrack: {maxPerCore: 0}
YAML
}
