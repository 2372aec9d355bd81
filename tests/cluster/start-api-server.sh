#!/bin/bash
# A real Kubernetes API server (etcd, kube-apiserver, our CRDs) for tests, on 127.0.0.1 and a free port.
#
#   start-api-server.sh <workdir> <bindir>
#
# <bindir> is what scripts/fetch-cluster-binaries.sh built. Prints the one line "ready" when the server is up and the
# CRDs are served, and then runs until its standard input closes, its parent is gone, it gets SIGTERM or SIGINT, or a
# server dies (exit status 1, reason on standard error). Even after SIGKILL nothing is left running.
#
# In <workdir>: admin.kubeconfig and alice.kubeconfig (two people who may do everything), nobody.kubeconfig (known, may
# do nothing), cert.kubeconfig (may do everything, by client certificate, all certificates inline), the servers' logs,
# and etcd.sock. What <workdir> held of an earlier run is discarded.
#
# AUDIT_LOG=path  one JSON line per request, written when it is answered (a watch: when it ends)
set -euo pipefail

work=${1:?usage: start-api-server.sh <workdir> <bindir>}
bin=$(cd "${2:?usage: start-api-server.sh <workdir> <bindir>}" && pwd)
crds=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../crds" && pwd)
audit_log=${AUDIT_LOG:+$(realpath -m "$AUDIT_LOG")}
start_limit_seconds=120   # 7 s when the machine is idle

mkdir -p "$work"
cd "$work"
work=$PWD
rm -rf etcd etcd.sock pki audit-policy.yaml tokens.csv ./*.kubeconfig ./*.log
mkdir -m 0700 pki etcd

# ---- living and dying: every wait goes through `pause`, every exit through `stop_servers`

servers=()

stop_servers() {
  # SIGKILL: the data is scratch, and a graceful API server waits for its open watches.
  if [ ${#servers[@]} -gt 0 ]; then
    kill -KILL "${servers[@]}" 2> /dev/null || true
    wait "${servers[@]}" 2> /dev/null || true
  fi
}
trap stop_servers EXIT
trap 'exit 0' TERM INT HUP

fail() {
  echo "start-api-server: $*" >&2
  tail -n 5 etcd.log apiserver.log >&2 2> /dev/null || true
  exit 1
}

parent_is_alive() { [ "$(awk '/^PPid:/ { print $2 }' "/proc/$$/status")" = "$PPID" ]; }

# pause <seconds>: waits, and ends everything when nobody needs us any more.
pause() {
  local status=0 pid
  IFS= read -r -t "$1" _ || status=$?
  if [ "$status" -ne 0 ] && [ "$status" -le 128 ]; then exit 0; fi   # above 128: the time is over
  parent_is_alive || exit 0
  for pid in "${servers[@]}"; do
    kill -0 "$pid" 2> /dev/null || fail "a server ended by itself"
  done
}

# wait_for <what> <command...>
wait_for() {
  local what=$1
  shift
  until "$@" > /dev/null 2>&1 < /dev/null; do
    if [ "$SECONDS" -ge "$start_limit_seconds" ]; then fail "gave up waiting for $what"; fi
    pause 0.1
  done
}

# start <log> <command...>: in the background, killed by the kernel should this script be.
start() {
  local log=$1
  shift
  setpriv --pdeathsig KILL "$@" > "$log" 2>&1 < /dev/null &
  servers+=($!)
}

# ---- identities: one CA for everything; EC keys, because RSA keys take longer than the server needs to start

new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
openssl ecparam -name prime256v1 -genkey -noout -out pki/service-accounts.key
openssl ec -in pki/service-accounts.key -pubout -out pki/service-accounts.pub 2> /dev/null
openssl req -x509 "${new_key[@]}" -keyout pki/ca.key -out pki/ca.crt -subj /CN=test-ca -days 2 2> /dev/null

# sign <name> <subject> <extensions>
sign() {
  openssl req "${new_key[@]}" -keyout "pki/$1.key" -out "pki/$1.csr" -subj "$2" 2> /dev/null
  openssl x509 -req -in "pki/$1.csr" -CA pki/ca.crt -CAkey pki/ca.key -CAcreateserial -days 2 \
    -out "pki/$1.crt" -extfile <(echo "$3") 2> /dev/null
}
sign apiserver /CN=kube-apiserver 'subjectAltName=IP:127.0.0.1,DNS:localhost'
sign cert-admin /O=system:masters/CN=cert-admin 'extendedKeyUsage=clientAuth'

# Below the range from which the kernel takes ports for outgoing connections.
free_port() {
  local port
  for _ in {1..50}; do
    port=$((20000 + RANDOM % 12000))
    if ! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then echo "$port" && return; fi
  done
  fail "no free port"
}
port=$(free_port)

# kubeconfig <name> <certificate authority> <credential>, the last two as YAML
kubeconfig() {
  (umask 077 && cat > "$1.kubeconfig") << YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$port", $2}}]
users: [{name: $1, user: {$3}}]
contexts: [{name: $1, context: {cluster: test, user: $1}}]
current-context: $1
YAML
}
ca="certificate-authority: \"$work/pki/ca.crt\""
while read -r name groups; do
  token=$(openssl rand -hex 16)
  echo "$token,$name,$name-uid${groups:+,$groups}" >> tokens.csv
  kubeconfig "$name" "$ca" "token: $token"
done << 'USERS'
admin system:masters
alice system:masters
nobody
USERS
kubeconfig cert "certificate-authority-data: $(base64 -w0 pki/ca.crt)" \
  "client-certificate-data: $(base64 -w0 pki/cert-admin.crt), client-key-data: $(base64 -w0 pki/cert-admin.key)"

# ---- servers

audit=()
if [ -n "$audit_log" ]; then
  cat > audit-policy.yaml << 'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Metadata}]
YAML
  audit=(--audit-policy-file=audit-policy.yaml --audit-log-path="$audit_log" --audit-log-maxsize=4096)
fi

# A socket instead of a port: nobody else can reach it. Relative, because the path of a socket has a short limit.
# The quota is for the benchmarks: the default of 2 GiB does not hold 80,000 devices and their history.
start etcd.log "$bin/etcd" --data-dir etcd --unsafe-no-fsync --log-level warn --quota-backend-bytes 8589934592 \
  --listen-client-urls unix://etcd.sock --advertise-client-urls unix://etcd.sock --listen-peer-urls http://127.0.0.1:0

# TaintNodesByCondition and ServiceAccount expect controllers that do not run here: nodes would keep the taint
# not-ready for ever, and pods would be refused.
start apiserver.log "$bin/kube-apiserver" --etcd-servers=unix://etcd.sock \
  --bind-address=127.0.0.1 --secure-port="$port" --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
  --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --client-ca-file=pki/ca.crt \
  --token-auth-file=tokens.csv --authorization-mode=Node,RBAC --service-cluster-ip-range=10.96.0.0/24 \
  --disable-admission-plugins=ServiceAccount,TaintNodesByCondition \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=pki/service-accounts.pub \
  --service-account-signing-key-file=pki/service-accounts.key --profiling=false "${audit[@]}"

kubectl=("$bin/kubectl" --kubeconfig admin.kubeconfig --cache-dir "$work/kubectl-cache" --request-timeout 10s)
wait_for "the API server" "${kubectl[@]}" get --raw /readyz
wait_for "the namespace default" "${kubectl[@]}" get --raw /api/v1/namespaces/default

"${kubectl[@]}" create -f "$crds" > crds.log 2>&1 || { cat crds.log >&2; exit 1; }
"${kubectl[@]}" wait --for condition=Established --timeout 30s crd --all >> crds.log
# Established comes before storage is ready: the first request of each gets a 429, which kubectl sits out for a second.
resources=(neurondevices neuronquarantinepolicies neuronincidents)
first_requests=()
for resource in "${resources[@]}"; do
  "${kubectl[@]}" get --raw "/apis/neuronobserver.io/v1alpha1/$resource" > /dev/null 2>&1 < /dev/null &
  first_requests+=($!)
done
wait "${first_requests[@]}" || true
for resource in "${resources[@]}"; do
  wait_for "$resource" "${kubectl[@]}" get --raw "/apis/neuronobserver.io/v1alpha1/$resource"
done

echo ready
while true; do pause 1; done
