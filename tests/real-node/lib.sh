# What up.sh, node.sh and down.sh agree on.
#   REAL_NODE_DIR      state of this run         (default streaming-operator-node in the temporary folder)
#   REAL_NODE_PORT     port of the API server    (default 26443; etcd takes the next two)
#   REAL_NODE_KUBELET  more lines for the kubelet's configuration file
# There is one node per machine: its bridge, its networks and its cgroups have fixed names.

dir=${REAL_NODE_DIR:-${TMPDIR:-/tmp}/streaming-operator-node}
port=${REAL_NODE_PORT:-26443}
etcd=http://127.0.0.1:$((port + 1))
peer=http://127.0.0.1:$((port + 2))
node=node1
bridge=so-node0
gateway=10.88.0.1
pod_net=10.88.0.0/16
service_net=10.96.0.0/16
service_ip=10.96.0.1

say() { echo "real node: $*" >&2; }

# The roots of all cgroup hierarchies.
cgroups() { findmnt -nrt cgroup,cgroup2 -o TARGET; }
