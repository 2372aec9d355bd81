#!/bin/bash
# Lets schemathesis (from PyPI, pinned) try the HTTP API of a running agent against its own openapi.json: no 5xx, no answer
# that is not described. Once on a loopback address, once where tokens are asked for.
#
#   with_schemathesis.sh <build dir> <source dir>
#
# Where PyPI cannot be reached: exit status 77 (skipped), or 1 when CI is set.
set -euo pipefail
build=${1:?usage: with_schemathesis.sh <build dir> <source dir>}
source=${2:?usage: with_schemathesis.sh <build dir> <source dir>}
version=4.32.5
venv=$build/schemathesis-$version
work=$(mktemp -d)
agent='' server=''
finish() {
  for child in $agent $server; do
    kill "$child" 2> /dev/null || continue
    wait "$child" || true
  done
  rm -rf "$work"
}
trap finish EXIT

if [ ! -x "$venv/bin/schemathesis" ] &&
  ! { python3 -m venv "$venv" && timeout 400 "$venv/bin/pip" install -q "schemathesis==$version"; } > "$work/pip.log" 2>&1; then
  tail -3 "$work/pip.log" >&2
  rm -rf "$venv"
  echo "schemathesis $version cannot be installed (python3-venv, and PyPI reached by pip, are needed)" >&2
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi

"$build/tests/nobs-sim-tree" --root "$work/tree" create > /dev/null
"$build/tests/nobs-sim-tree" --root "$work/tree" break 3 hbm
mkfifo "$work/open"
exec 9<> "$work/open"  # the embedded API lives as long as its standard input
"$build/tests/nobs-sim-api" --crds="$source/crds" --directory="$work" < "$work/open" > "$work/api.log" 2>&1 &
server=$!
for _ in $(seq 100); do grep -q ready "$work/api.log" && break; sleep 0.1; done

# try <address to listen on> [schemathesis options]
try() {
  local address=$1 port
  shift
  "$build/neuron-observer-agent" --node-name=node-a --kubeconfig="$work/admin.kubeconfig" \
    --collection.sysfs_path="$work/tree/sys" --collection.proc_path="$work/tree/proc" --daemon.listen_address="$address" \
    --daemon.port=0 --daemon.socket="$work/agent.sock" > "$work/agent.log" 2>&1 &
  agent=$!
  local socket=(curl -sf --unix-socket "$work/agent.sock")
  for _ in $(seq 150); do "${socket[@]}" http://agent/api/v1alpha1/snapshot > /dev/null && break; sleep 0.1; done
  port=$(sed -nE 's/.*"agent started".*"port":"([0-9]+)".*/\1/p' "$work/agent.log")
  "${socket[@]}" http://agent/api/v1alpha1/openapi.json > "$work/openapi.json" || { cat "$work/agent.log" >&2; exit 1; }
  (cd "$work" && "$venv/bin/schemathesis" run "$work/openapi.json" --url "http://127.0.0.1:$port" --checks all \
    --max-examples 30 --seed 1 --request-timeout 70 --no-color "$@")
  kill "$agent"
  wait "$agent" || { cat "$work/agent.log" >&2; exit 1; }
  agent=''
}
try 127.0.0.1
try 0.0.0.0 --header "Authorization: Bearer sim-token-of-admin"
