#!/bin/bash
# Runs a command with NOBS_KUBECONFIG naming a real API server that lives as long as the command.
#
#   with_real_api_server.sh <bindir> <command...>
#
# Without the binaries of scripts/fetch-cluster-binaries.sh in <bindir>: exit status 77 (skipped), or 1 when CI is set.
set -euo pipefail
bin=${1:?usage: with_real_api_server.sh <bindir> <command...>}
shift
start=$(dirname "${BASH_SOURCE[0]}")/../../../cluster/start-api-server.sh
if [ ! -x "$bin/kube-apiserver" ]; then
  echo "no kube-apiserver in $bin: run scripts/fetch-cluster-binaries.sh" >&2
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
coproc server { exec "$start" "$work" "$bin"; }
pid=$server_PID
if ! IFS= read -r -t 120 line <&"${server[0]}" || [ "$line" != ready ]; then
  echo "the API server did not start" >&2
  exit 1
fi
status=0
NOBS_KUBECONFIG="$work/admin.kubeconfig" "$@" || status=$?
exec {server[1]}>&-   # its standard input closes, and it ends
wait "$pid" || true
exit "$status"
