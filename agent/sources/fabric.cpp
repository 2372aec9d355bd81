#include "agent/sources/fabric.h"

#include <fcntl.h>

#include <algorithm>

#include "agent/sources/value.h"
#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

constexpr size_t kMaxDevices = 64;  // the largest instance has 16
constexpr size_t kMaxPorts = 8;     // EFA has one
constexpr size_t kMaxName = 63;

const std::string kInfiniband = "class/infiniband";
const std::string kNeuronClass = "class/neuron_device/";

bool is_efa(const Root& sysfs, const std::string& name) {
  const auto vendor = sysfs.text(kInfiniband + "/" + name + "/device/vendor");
  const auto device = sysfs.text(kInfiniband + "/" + name + "/device/device");
  // Where the PCI directory cannot be seen the counters tell: only EFA has SRD's.
  if (!vendor || !device) return true;
  return trim(*vendor) == "0x1d0f" && trim(*device).starts_with("0xefa");
}

void read_counters(const Root& sysfs, const std::string& directory,
                   const std::set<std::string, std::less<>>& wanted, EfaPort& port) {
  const auto present = sysfs.names(directory);
  for (const std::string& name : efa_counters()) {
    if (!wanted.contains(name) || std::ranges::find(present, name) == present.end()) continue;
    const auto text = sysfs.text(directory + "/" + name);
    const auto number = text ? parse_number(*text) : std::nullopt;
    if (number) {
      port.counters.emplace(name, *number);
    } else {
      ++port.failed;
    }
  }
}

std::string line_of(const Root& sysfs, const std::string& file) {
  const auto text = sysfs.text(kNeuronClass + file);
  return text ? printable(trim(*text), kMaxName) : "";
}

// The largest UltraServer this node is a member of; "busy" while an election runs.
UltraServer read_ultraserver(const Root& sysfs) {
  UltraServer found;
  found.mode = line_of(sysfs, "ultraserver_mode");
  if (found.mode == "busy") found.mode.clear();
  struct Names {
    std::string node, server;
    std::optional<int> size;
  };
  for (const Names& names :
       {Names{"node_id_4", "server_id_4", 4}, Names{"node_id_2", "server_id_2", 2},
        Names{"node_id", "reservation_id", {}}}) {
    const auto node = parse_u64(line_of(sysfs, names.node));  // -1: not applicable
    const std::string server = line_of(sysfs, names.server);
    if (!node || *node > 1'000 || server.find_first_not_of('0') == std::string::npos ||
        server == "busy")
      continue;
    found.id = server;
    found.size = names.size;
    found.index = static_cast<int>(*node);
    break;
  }
  return found;
}

}  // namespace

const std::vector<std::string>& efa_counters() {
  static const std::vector<std::string> names = {"tx_bytes",
                                                 "rx_bytes",
                                                 "tx_pkts",
                                                 "rx_pkts",
                                                 "rx_drops",
                                                 "send_bytes",
                                                 "recv_bytes",
                                                 "send_wrs",
                                                 "recv_wrs",
                                                 "rdma_write_wrs",
                                                 "rdma_read_wrs",
                                                 "rdma_write_bytes",
                                                 "rdma_read_bytes",
                                                 "rdma_write_wr_err",
                                                 "rdma_read_wr_err",
                                                 "rdma_read_resp_bytes",
                                                 "rdma_write_recv_bytes",
                                                 "retrans_bytes",
                                                 "retrans_pkts",
                                                 "retrans_timeout_events",
                                                 "impaired_remote_conn_events",
                                                 "unresponsive_remote_events"};
  return names;
}

FabricReading read_fabric(const Root& sysfs, const std::set<std::string, std::less<>>& wanted) {
  FabricReading reading;
  reading.ultraserver = read_ultraserver(sysfs);
  auto devices = sysfs.names(kInfiniband);
  std::ranges::sort(devices);
  if (devices.size() > kMaxDevices) devices.resize(kMaxDevices);
  for (const std::string& device : devices) {
    if (device.size() > kMaxName || !is_efa(sysfs, device)) continue;
    auto ports = sysfs.names(kInfiniband + "/" + device + "/ports");
    std::ranges::sort(ports);
    if (ports.size() > kMaxPorts) ports.resize(kMaxPorts);
    for (const std::string& name : ports) {
      if (name.size() > kMaxName) continue;
      EfaPort port{device, name, {}, 0};
      read_counters(sysfs, kInfiniband + "/" + device + "/ports/" + name + "/hw_counters", wanted,
                    port);
      reading.ports.push_back(std::move(port));
    }
  }
  return reading;
}

}  // namespace nobs::sources
