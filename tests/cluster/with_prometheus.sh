#!/bin/bash
# A real Prometheus scrapes a real agent on a simulated trn2.48xlarge, in both text formats, and is asked what it holds.
#
#   with_prometheus.sh <build dir>
#
# Where Debian's prometheus is not installed: exit status 77 (skipped), or 1 when CI is set.
set -euo pipefail
build=${1:?usage: with_prometheus.sh <build dir>}
command -v prometheus promtool jq > /dev/null || {
  echo "prometheus, promtool and jq are needed (scripts/install-packages.sh)" >&2
  [ -n "${CI:-}" ] && exit 1
  exit 77
}
work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
children=()
finish() {
  [ ${#children[@]} -eq 0 ] || kill "${children[@]}" 2> /dev/null || true
  wait || true
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "with_prometheus: $*" >&2
  tail -n 5 "$work"/*.log >&2
  exit 1
}
# eventually <command…>: within 60 s
eventually() {
  for _ in $(seq 300); do
    if "$@"; then return 0; fi
    sleep 0.2
  done
  fail "never came true: $*"
}

"$build/tests/nobs-sim-tree" --root "$work/tree" create > /dev/null
cat > "$work/kubeconfig" << END
{apiVersion: v1, kind: Config, current-context: none,
 clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}],
 contexts: [{name: none, context: {cluster: none, user: none}}], users: [{name: none, user: {}}]}
END
"$build/neuron-observer-agent" --node-name=node-a --kubeconfig="$work/kubeconfig" --daemon.port=0 \
  --daemon.socket="$work/agent.sock" --collection.telemetry_interval=1s \
  --collection.sysfs_path="$work/tree/sys" --collection.proc_path="$work/tree/proc" > "$work/agent.log" 2>&1 &
children+=($!)
port_of() { port=$(sed -nE 's/.*"agent started".*"port":"([0-9]+)".*/\1/p' "$work/agent.log"); [ -n "$port" ]; }
eventually port_of
is_ready() { curl -sf "http://127.0.0.1:$port/readyz" && curl -s "http://127.0.0.1:$port/metrics" | grep '^neuron_core_utilization_avg{' > /dev/null; }
eventually is_ready

# The contract's own names end in _sum and _count; promtool has nothing else to say.
curl -s "http://127.0.0.1:$port/metrics" > "$work/scrape"
if promtool check metrics < "$work/scrape" 2>&1 | grep -vE 'should not have "_(sum|count)" suffix'; then
  fail "promtool finds something else than the contract's names"
fi

# Prometheus asks for OpenMetrics by itself.
cat > "$work/prometheus.yml" << END
global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: neuron-observer, static_configs: [{targets: ["127.0.0.1:$port"]}]}
END
listen=127.0.0.1:$((20000 + RANDOM % 20000))
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="$listen" \
  --log.level=warn > "$work/prometheus.log" 2>&1 &
children+=($!)
query() { curl -sf "http://$listen/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // empty'; }
# gives <query> <value>
gives() { [ "$(query "$1")" = "$2" ]; }

eventually gives 'up{job="neuron-observer"}' 1
eventually gives 'count(neuron_device_health{state="healthy"} == 1)' 16
eventually gives 'count(neuron_core_utilization_avg)' 128
eventually gives 'neuron_system_physical_neuroncore_count' 128
eventually gives 'count(neuron_efa_rx_bytes_total)' 16
eventually gives 'sum(neuron_device_device_memory_capacity_sum)' 1649267441664
eventually gives 'scrape_samples_scraped == scrape_samples_post_metric_relabeling' "$(query scrape_samples_scraped)"

# What happens to a device is there one scrape later.
"$build/tests/nobs-sim-tree" --root "$work/tree" break 3 hbm
eventually gives 'neuron_device_health{neuron_device_index="3",state="unhealthy"}' 1
eventually gives 'neuron_device_mem_ecc_uncorrected_sum_total' 1
eventually gives 'sum(neuron_device_faults_total{class="HBMUncorrectable"})' 1
"$build/tests/nobs-sim-tree" --root "$work/tree" set-core 5 2 success 42
eventually gives 'neuron_core_infer_completed_core_sum_total{neuroncore="42"}' 42
echo "a real Prometheus holds what the agent shows"
