#include "agent/telemetry/catalogue.h"

#include <algorithm>
#include <array>

namespace nobs::telemetry {
namespace {

using enum Scope;
using enum Kind;
using enum Origin;

constexpr std::string_view kDatastore =
    "the runtime's shared memory, which is read by opening /dev/neuron*";
constexpr std::string_view kProcesses =
    "/proc/<pid> of the processes that hold devices, which needs hostPID";

const std::vector<Metric> kMetrics = {
    {"power_min", Device, Gauge, "%", Derived,
     "stats/power/utilization while its status is valid and its minute recent",
     "Lowest power of the last whole minute, in percent of the maximum above idle."},
    {"power_max", Device, Gauge, "%", Derived,
     "stats/power/utilization while its status is valid and its minute recent",
     "Highest power of the last whole minute, in percent of the maximum above idle."},
    {"power_avg", Device, Gauge, "%", Derived,
     "stats/power/utilization while its status is valid and its minute recent",
     "Average power of the last whole minute, in percent of the maximum above idle."},
    {"host_mem_dma_buffers", Device, Gauge, "By", Driver, "host_mem/dma_buffers",
     "Host memory in use for dma buffers."},
    {"host_mem_tensors", Device, Gauge, "By", Driver, "host_mem/tensors",
     "Host memory in use for tensors."},
    {"host_mem_constants", Device, Gauge, "By", Driver, "host_mem/constants",
     "Host memory in use for constants."},
    {"host_mem_application_memory", Device, Gauge, "By", Driver, "host_mem/application_memory",
     "Host memory in use for application memory."},
    {"host_mem_driver_memory", Device, Gauge, "By", Driver, "host_mem/driver_memory",
     "Host memory in use for driver memory."},
    {"host_mem_notifications", Device, Gauge, "By", Driver, "host_mem/notifications",
     "Host memory in use for notifications."},
    {"host_mem_dma_rings", Device, Gauge, "By", Driver, "host_mem/dma_rings",
     "Host memory in use for dma rings."},
    {"host_mem_uncategorized", Device, Gauge, "By", Driver, "host_mem/uncategorized",
     "Host memory in use for uncategorized."},
    {"device_memory_capacity", Device, Gauge, "By", Derived, "the table of device families",
     "Memory of the device."},
    {"mem_usage_code_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: code."},
    {"mem_usage_tensors_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: tensors."},
    {"mem_usage_constants_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: constants."},
    {"mem_usage_scratchpad_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: scratchpad."},
    {"mem_usage_misc_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: misc."},
    {"mem_usage_total_host", Device, Gauge, "By", Nowhere, kDatastore,
     "Host memory of runtimes: total."},
    {"process_rss", Device, Gauge, "By", Nowhere, kProcesses,
     "Resident memory of processes that use devices."},
    {"vcpu_usage_user", Device, Gauge, "%", Nowhere, kProcesses,
     "CPU time in user mode of processes that use devices."},
    {"vcpu_usage_system", Device, Gauge, "%", Nowhere, kProcesses,
     "CPU time in system mode of processes that use devices."},
    {"vcpu_user_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU in user mode since the reading before."},
    {"vcpu_nice_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU in user mode with low priority since the reading before."},
    {"vcpu_system_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU in kernel mode since the reading before."},
    {"vcpu_idle_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU idle since the reading before."},
    {"vcpu_iowait_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU idle while input or output was pending since the reading before."},
    {"vcpu_irq_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU in interrupts since the reading before."},
    {"vcpu_softirq_percent", Vcpu, Gauge, "%", Host, "/proc/stat",
     "Time of the vCPU in soft interrupts since the reading before."},
    {"mem_ecc_corrected", Device, Counter, "{error}", Driver, "mem_ecc_corrected",
     "Corrected memory (HBM) errors."},
    {"mem_ecc_corrected_delta", Device, Gauge, "{error}", Derived, "the rise of mem_ecc_corrected",
     "Corrected memory errors since the sample before."},
    {"mem_ecc_uncorrected", Device, Counter, "{error}", Driver, "mem_ecc_uncorrected",
     "Uncorrected memory (HBM) errors as the driver counts them: those that cannot be repaired."},
    {"mem_ecc_unrepairable_uncorrected", Device, Counter, "{error}", Driver, "mem_ecc_uncorrected",
     "Uncorrected memory (HBM) errors that cannot be repaired."},
    {"mem_ecc_repairable_uncorrected", Device, Counter, "{error}", Driver,
     "mem_ecc_repairable_uncorrected",
     "Uncorrected memory (HBM) errors that a reload of the driver repairs."},
    {"sram_ecc_corrected", Device, Counter, "{error}", Driver, "sram_ecc_corrected",
     "Corrected SRAM errors."},
    {"sram_ecc_corrected_delta", Device, Gauge, "{error}", Derived,
     "the rise of sram_ecc_corrected", "Corrected SRAM errors since the sample before."},
    {"sram_ecc_uncorrected", Device, Counter, "{error}", Driver, "sram_ecc_uncorrected",
     "Uncorrected SRAM errors."},
    {"device_mem_model_code", Core, Gauge, "By", Driver, "device_mem/model_code",
     "Device memory in use for model code."},
    {"device_mem_tensors", Core, Gauge, "By", Driver, "device_mem/tensors",
     "Device memory in use for tensors."},
    {"device_mem_constants", Core, Gauge, "By", Driver, "device_mem/constants",
     "Device memory in use for constants."},
    {"device_mem_model_shared_scratchpad", Core, Gauge, "By", Driver,
     "device_mem/model_shared_scratchpad", "Device memory in use for model shared scratchpad."},
    {"device_mem_uncategorized", Core, Gauge, "By", Driver, "device_mem/uncategorized",
     "Device memory in use for uncategorized."},
    {"device_mem_runtime_memory", Core, Gauge, "By", Driver, "device_mem/runtime_memory",
     "Device memory in use for runtime memory."},
    {"device_mem_driver_memory", Core, Gauge, "By", Driver, "device_mem/driver_memory",
     "Device memory in use for driver memory."},
    {"device_mem_collectives", Core, Gauge, "By", Driver, "device_mem/collectives",
     "Device memory in use for collectives."},
    {"device_mem_nonshared_scratchpad", Core, Gauge, "By", Driver,
     "device_mem/nonshared_scratchpad", "Device memory in use for nonshared scratchpad."},
    {"device_mem_notifications", Core, Gauge, "By", Driver, "device_mem/notifications",
     "Device memory in use for notifications."},
    {"device_mem_dma_rings", Core, Gauge, "By", Driver, "device_mem/dma_rings",
     "Device memory in use for dma rings."},
    {"mem_usage_total_device", Core, Gauge, "By", Driver, "device_mem", "Device memory in use."},
    {"hw_err_collectives", Core, Counter, "{error}", Driver, "hw_collectives_error",
     "Collectives that hung."},
    {"hw_err_hbm_ue", Core, Counter, "{error}", Driver, "hw_hbm_ue_error",
     "Executions that met an unrepairable HBM error."},
    {"hw_err_nc_ue", Core, Counter, "{error}", Driver, "hw_nc_ue_error",
     "Executions that met an uncorrected error of the core."},
    {"hw_err_dma_abort", Core, Counter, "{error}", Driver, "hw_dma_abort_error",
     "Executions that met an aborted DMA."},
    {"hw_err_repairable_hbm_ue", Core, Counter, "{error}", Driver, "hw_repairable_hbm_ue_error",
     "Executions that met a repairable HBM error."},
    {"err_sw_nq_overflow", Core, Counter, "{error}", Driver, "execute_sw_nq_overflow",
     "Executions that failed by notification queue overflow."},
    {"err_sw_semaphore_error", Core, Counter, "{error}", Driver, "execute_sw_semaphore_error",
     "Executions that failed by semaphore errors."},
    {"err_sw_event_error", Core, Counter, "{error}", Driver, "execute_sw_event_error",
     "Executions that failed by event errors."},
    {"err_sw_psum_collision", Core, Counter, "{error}", Driver, "execute_sw_psum_collision",
     "Executions that failed by PSUM collisions."},
    {"err_sw_sequencer_fatal", Core, Counter, "{error}", Driver, "execute_sw_sequencer_fatal",
     "Executions that failed by fatal sequencer errors."},
    {"infer_completed", Core, Counter, "{inference}", Driver, "success",
     "Executions that succeeded."},
    {"infer_completed_with_err", Core, Counter, "{inference}", Driver,
     "execute_completed_with_error", "Executions that completed with an error."},
    {"infer_completed_with_num_err", Core, Counter, "{inference}", Driver,
     "execute_completed_with_num_error", "Executions that completed with a numerical error."},
    {"infer_timed_out", Core, Counter, "{inference}", Driver, "timeout",
     "Executions that timed out."},
    {"infer_incorrect_input", Core, Counter, "{inference}", Driver, "exec_bad_input",
     "Executions refused for their input."},
    {"infer_failed_to_queue", Core, Counter, "{inference}", Driver, "execute_failed_to_queue",
     "Executions that could not be queued."},
    {"inference_count", Core, Counter, "{inference}", Driver, "inference_count",
     "Executions that began."},
    {"model_load_count", Core, Counter, "{model}", Driver, "model_load_count",
     "Models that were loaded."},
    {"loaded_model_count", Core, Gauge, "{model}", Nowhere, kDatastore, "Models that are loaded."},
    {"flop_count", Core, Counter, "{flop}", Driver, "flop_count", "Floating point operations."},
    {"err_generic", Core, Counter, "{error}", Driver, "generic_error",
     "Executions that failed for no other class."},
    {"err_numerical", Core, Counter, "{error}", Nowhere, kDatastore,
     "Executions with numerical errors."},
    {"err_model", Core, Counter, "{error}", Nowhere, kDatastore,
     "Executions that failed by the model."},
    {"err_transient", Core, Counter, "{error}", Nowhere, kDatastore,
     "Executions that failed by a transient error."},
    {"err_hw", Core, Counter, "{error}", Driver, "hw_error",
     "Executions that failed by the hardware."},
    {"err_rt", Core, Counter, "{error}", Nowhere, kDatastore,
     "Executions that failed in the runtime."},
    {"generic_fail", Core, Counter, "{error}", Driver, "failure", "Executions that failed."},
    {"err_resource", Core, Counter, "{error}", Driver, "resource_error",
     "Executions that lacked a resource."},
    {"err_resource_nc", Core, Counter, "{error}", Driver, "resource_nc_error",
     "Executions that lacked a NeuronCore."},
    {"err_invalid", Core, Counter, "{error}", Driver, "invalid_error",
     "Executions refused as invalid."},
    {"err_unsupported_neff_version", Core, Counter, "{error}", Driver, "unsupported_neff_version",
     "Models refused for their NEFF version."},
    {"latency_device", Core, Gauge, "s", Nowhere, kDatastore, "Time of executions on the device."},
    {"latency_total", Core, Gauge, "s", Nowhere, kDatastore,
     "Time of executions from request to answer."},
    {"latency_device_p0", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 0 of the time of executions on the device."},
    {"latency_device_p1", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 1 of the time of executions on the device."},
    {"latency_device_p25", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 25 of the time of executions on the device."},
    {"latency_device_p50", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 50 of the time of executions on the device."},
    {"latency_device_p75", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 75 of the time of executions on the device."},
    {"latency_device_p99", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 99 of the time of executions on the device."},
    {"latency_device_p100", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 100 of the time of executions on the device."},
    {"latency_total_p0", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 0 of the time of executions from request to answer."},
    {"latency_total_p1", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 1 of the time of executions from request to answer."},
    {"latency_total_p25", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 25 of the time of executions from request to answer."},
    {"latency_total_p50", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 50 of the time of executions from request to answer."},
    {"latency_total_p75", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 75 of the time of executions from request to answer."},
    {"latency_total_p99", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 99 of the time of executions from request to answer."},
    {"latency_total_p100", Core, Gauge, "s", Nowhere, kDatastore,
     "Percentile 100 of the time of executions from request to answer."},
    {"nc_time", Core, Counter, "us", Nowhere, kDatastore, "Time of computation."},
    {"cc_time", Core, Counter, "us", Nowhere, kDatastore, "Time of collective communication."},
    {"time_in_use", Core, Counter, "us", Driver, "nc_time_in_use",
     "Time in which the core was busy."},
    {"reset_req_count", Core, Counter, "{reset}", Driver, "reset_req_count",
     "Resets that were asked for; each load of the driver asks for one."},
    {"reset_fail_count", Core, Counter, "{reset}", Driver, "reset_fail_count",
     "Resets that failed."},
    {"utilization", Core, Gauge, "%", Derived, "the rise of nc_time_in_use",
     "Time in which the core was busy since the sample before; several processes can add up to "
     "more than 100."},
    {"effective_flops", Core, Gauge, "{flop}/s", Derived, "the rise of flop_count",
     "Floating point operations per second since the sample before."},
    {"memory_total_bytes", System, Gauge, "By", Host, "/proc/meminfo: MemTotal",
     "Memory of the node."},
    {"memory_used_bytes", System, Gauge, "By", Host, "/proc/meminfo: MemTotal - MemAvailable",
     "Memory of the node that is not available."},
    {"swap_total_bytes", System, Gauge, "By", Host, "/proc/meminfo: SwapTotal",
     "Swap space of the node."},
    {"swap_used_bytes", System, Gauge, "By", Host, "/proc/meminfo: SwapTotal - SwapFree",
     "Swap space in use."},
    {"cpu_average_usage", System, Gauge, "%", Host, "/proc/stat",
     "Time in which the CPUs were busy since the reading before."},
    {"context_switch_count", System, Counter, "{switch}", Host, "/proc/stat: ctxt",
     "Context switches."},
    {"vcpu_count", System, Gauge, "{cpu}", Host, "/proc/stat", "Online vCPUs."},
    {"neuron_device_count", System, Gauge, "{device}", Derived, "devices that the driver shows",
     "Neuron devices."},
    {"physical_neuroncore_count", System, Gauge, "{core}", Derived, "cores that the driver shows",
     "Physical NeuronCores."},
    {"logical_neuroncore_count", System, Gauge, "{core}", Derived,
     "physical cores by the logical NeuronCore configuration", "Logical NeuronCores."},
    {"tx_bytes", Efa, Counter, "By", Fabric, "tx_bytes", "Bytes sent."},
    {"rx_bytes", Efa, Counter, "By", Fabric, "rx_bytes", "Bytes received."},
    {"tx_pkts", Efa, Counter, "{packet}", Fabric, "tx_pkts", "Packets sent."},
    {"rx_pkts", Efa, Counter, "{packet}", Fabric, "rx_pkts", "Packets received."},
    {"rx_drops", Efa, Counter, "{packet}", Fabric, "rx_drops", "Packets received and dropped."},
    {"send_bytes", Efa, Counter, "By", Fabric, "send_bytes", "Bytes of send requests."},
    {"recv_bytes", Efa, Counter, "By", Fabric, "recv_bytes", "Bytes received by send operations."},
    {"send_wrs", Efa, Counter, "{request}", Fabric, "send_wrs", "Send requests."},
    {"recv_wrs", Efa, Counter, "{request}", Fabric, "recv_wrs", "Receive requests."},
    {"rdma_write_wrs", Efa, Counter, "{request}", Fabric, "rdma_write_wrs", "RDMA write requests."},
    {"rdma_read_wrs", Efa, Counter, "{request}", Fabric, "rdma_read_wrs", "RDMA read requests."},
    {"rdma_write_bytes", Efa, Counter, "By", Fabric, "rdma_write_bytes", "Bytes written by RDMA."},
    {"rdma_read_bytes", Efa, Counter, "By", Fabric, "rdma_read_bytes", "Bytes read by RDMA."},
    {"rdma_write_wr_err", Efa, Counter, "{error}", Fabric, "rdma_write_wr_err",
     "RDMA writes that failed."},
    {"rdma_read_wr_err", Efa, Counter, "{error}", Fabric, "rdma_read_wr_err",
     "RDMA reads that failed."},
    {"rdma_read_resp_bytes", Efa, Counter, "By", Fabric, "rdma_read_resp_bytes",
     "Bytes served to RDMA readers."},
    {"rdma_write_recv_bytes", Efa, Counter, "By", Fabric, "rdma_write_recv_bytes",
     "Bytes that remote nodes wrote by RDMA."},
    {"retrans_bytes", Efa, Counter, "By", Fabric, "retrans_bytes", "Bytes sent again."},
    {"retrans_pkts", Efa, Counter, "{packet}", Fabric, "retrans_pkts", "Packets sent again."},
    {"retrans_timeout_events", Efa, Counter, "{event}", Fabric, "retrans_timeout_events",
     "Timeouts after which packets were sent again."},
    {"impaired_remote_conn_events", Efa, Counter, "{event}", Fabric, "impaired_remote_conn_events",
     "Connections that became impaired."},
    {"unresponsive_remote_events", Efa, Counter, "{event}", Fabric, "unresponsive_remote_events",
     "Remote nodes that did not answer."},
};

const std::vector<std::string_view> kSystemInfo = {
    "instance_type",        "instance_name",    "region",           "availability_zone",
    "availability_zone_id", "subnet_id",        "ami_id",           "ultraserver_id",
    "ultraserver_type",     "ultraserver_mode", "ultraserver_size", "ultraserver_instance_index"};
const std::vector<std::string_view> kDeviceInfo = {"device_arch_type",
                                                   "core_arch_type",
                                                   "device_name",
                                                   "physical_neuroncore_per_device_count",
                                                   "logical_neuroncore_per_device_count",
                                                   "serial_number",
                                                   "driver_version",
                                                   "connected_devices",
                                                   "logical_neuroncore_config"};

}  // namespace

const std::vector<Metric>& metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == kMetrics.end() ? nullptr : &*found;
}

const std::vector<const Metric*>& metrics_of(Scope scope) {
  static const auto by_scope = [] {
    std::array<std::vector<const Metric*>, 5> lists;
    for (const Metric& metric : kMetrics)
      lists[static_cast<size_t>(metric.scope)].push_back(&metric);
    return lists;
  }();
  return by_scope[static_cast<size_t>(scope)];
}

size_t slot_of(const Metric& metric) {
  const auto& all = metrics_of(metric.scope);
  return static_cast<size_t>(std::ranges::find(all, &metric) - all.begin());
}

const std::vector<std::string_view>& info_labels(std::string_view name) {
  static const std::vector<std::string_view> none;
  if (name == "system_info") return kSystemInfo;
  return name == "device_info" ? kDeviceInfo : none;
}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Device:
      return "device";
    case Core:
      return "core";
    case Vcpu:
      return "vcpu";
    case Efa:
      return "efa";
    case System:
      return "system";
  }
  return "";
}

}  // namespace nobs::telemetry
