#include "tests/sim/tree/profile.h"

#include <array>
#include <stdexcept>

namespace nobs::sim {
namespace {

constexpr int kTorus = 16;
constexpr std::array<std::string_view, kTorus> kTrn1Neighbours = {
    "12, 3, 4, 1",  "13, 0, 5, 2",  "14, 1, 6, 3",   "15, 2, 7, 0",  "0, 7, 8, 5",   "1, 4, 9, 6",
    "2, 5, 10, 7",  "3, 6, 11, 4",  "4, 11, 12, 9",  "5, 8, 13, 10", "6, 9, 14, 11", "7, 10, 15, 8",
    "8, 15, 0, 13", "9, 12, 1, 14", "10, 13, 2, 15", "11, 14, 3, 12"};
constexpr std::array<std::string_view, kTorus> kTrn2Neighbours = {
    "12, 1, 3, 4",  "0, 13, 5, 2",  "14, 3, 1, 6",   "2, 15, 7, 0",  "8, 5, 7, 0",   "4, 9, 1, 6",
    "10, 7, 5, 2",  "6, 11, 3, 4",  "4, 9, 11, 12",  "8, 5, 13, 10", "6, 11, 9, 14", "10, 7, 15, 8",
    "0, 13, 15, 8", "12, 1, 9, 14", "2, 15, 13, 10", "14, 3, 11, 12"};
constexpr std::array<std::string_view, kTorus> kBuses = {
    "cc", "b5", "b6", "cb", "6f", "58", "59", "6e", "9b", "84", "85", "9a", "f8", "e1", "e2", "f7"};

Profile inf2(std::string_view name, int devices) {
  return {name, devices, 2, "NDv3", "NCv2", "Inf2", "Inferentia2", "0x7264", 1, false, false};
}
Profile trn1(std::string_view name, int devices) {
  return {name, devices, 2, "NDv2", "NCv2", "Trn1", "Trainium1", "0x7164", 1, false, false};
}
Profile trn2(std::string_view name, int devices) {
  return {name, devices, 8, "NDv3", "NCv3", "Trn2", "Trainium2", "0x7364", 2, true, false};
}
Profile trn3(std::string_view name, int devices) {
  return {name, devices, 8, "NDv4", "NCv4", "Trn3", "Trainium3", "0x7564", 2, true, true};
}

}  // namespace

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
      inf2("inf2.xlarge", 1),      inf2("inf2.8xlarge", 1),   inf2("inf2.24xlarge", 6),
      inf2("inf2.48xlarge", 12),   trn1("trn1.2xlarge", 1),   trn1("trn1.32xlarge", 16),
      trn1("trn1n.32xlarge", 16),  trn2("trn2.3xlarge", 1),   trn2("trn2.48xlarge", 16),
      trn2("trn2u.48xlarge", 16),  trn3("trn3.48xlarge", 16), trn3("trn3e.24xlarge", 4),
      trn3("trn3pd98.3xlarge", 1),
  };
  return all;
}

const Profile& profile_of(std::string_view instance) {
  for (const Profile& profile : profiles())
    if (profile.instance == instance) return profile;
  throw std::runtime_error("no such instance type in the simulator: " + std::string(instance));
}

const std::vector<Name>& status_names() {
  static const std::vector<Name> names = {{"success", 7},
                                          {"failure", 7},
                                          {"timeout", 7},
                                          {"exec_bad_input", 7},
                                          {"hw_error", 7},
                                          {"execute_completed_with_error", 8},
                                          {"execute_completed_with_num_error", 8},
                                          {"generic_error", 7},
                                          {"resource_error", 7},
                                          {"resource_nc_error", 7},
                                          {"execute_failed_to_queue", 8},
                                          {"invalid_error", 7},
                                          {"unsupported_neff_version", 7},
                                          {"oob_error", 16},
                                          {"hw_collectives_error", 19},
                                          {"hw_hbm_ue_error", 19},
                                          {"hw_nc_ue_error", 19},
                                          {"hw_dma_abort_error", 19},
                                          {"execute_sw_nq_overflow", 20},
                                          {"execute_sw_semaphore_error", 21},
                                          {"execute_sw_event_error", 21},
                                          {"execute_sw_psum_collision", 21},
                                          {"execute_sw_sequencer_fatal", 21},
                                          {"hw_repairable_hbm_ue_error", 23}};
  return names;
}

const std::vector<Name>& other_names() {
  static const std::vector<Name> names = {{"model_load_count", 7}, {"reset_req_count", 8},
                                          {"reset_fail_count", 8}, {"inference_count", 7},
                                          {"flop_count", 12},      {"nc_time_in_use", 21}};
  return names;
}

const std::vector<Name>& host_memory_names() {
  static const std::vector<Name> names = {{"application_memory", 10},
                                          {"constants", 10},
                                          {"dma_buffers", 10},
                                          {"dma_rings", 18},
                                          {"driver_memory", 17},
                                          {"notifications", 17},
                                          {"tensors", 10},
                                          {"uncategorized", 17}};
  return names;
}

const std::vector<Name>& device_memory_names() {
  static const std::vector<Name> names = {{"model_code", 10},     {"tensors", 10},
                                          {"constants", 10},      {"model_shared_scratchpad", 10},
                                          {"runtime_memory", 10}, {"driver_memory", 17},
                                          {"collectives", 17},    {"nonshared_scratchpad", 17},
                                          {"notifications", 17},  {"dma_rings", 18},
                                          {"uncategorized", 17}};
  return names;
}

std::string connected_devices(const Profile& profile, int device, int probed) {
  if (profile.family != "Inf2") {
    if (probed != kTorus) return "";
    const auto& table = profile.family == "Trn1" ? kTrn1Neighbours : kTrn2Neighbours;
    return std::string(table.at(static_cast<size_t>(device)));
  }
  if (probed == 12) {  // a ring
    if (device == 0) return "11, 1";
    if (device == 11) return "10, 0";
  } else if (probed == 6) {  // a chain
    if (device == 0) return "1";
    if (device == 5) return "4";
  } else {
    return "";
  }
  return std::to_string(device - 1) + ", " + std::to_string(device + 1);
}

std::string pci_address(int device) {
  return "0000:" + std::string(kBuses.at(static_cast<size_t>(device))) + ":00.0";
}

int efa_adapters(const Profile& profile) {
  if (profile.devices < 16) return 0;
  return profile.instance == "trn1.32xlarge" ? 8 : 16;
}

namespace {

// udev names an adapter by its bus and slot.
constexpr int kFirstBus = 16;
constexpr int kSlot = 27;

}  // namespace

std::string efa_name(int adapter) {
  return "rdmap" + std::to_string(kFirstBus + adapter) + "s" + std::to_string(kSlot);
}

std::string efa_pci_address(int adapter) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto bus = static_cast<size_t>(kFirstBus + adapter);
  return std::string("0000:") + kHex[bus / 16] + kHex[bus % 16] + ":1b.0";
}

const std::vector<std::string_view>& efa_counter_names() {
  static const std::vector<std::string_view> names = {"lifespan",
                                                      "tx_bytes",
                                                      "tx_pkts",
                                                      "rx_bytes",
                                                      "rx_pkts",
                                                      "rx_drops",
                                                      "send_bytes",
                                                      "send_wrs",
                                                      "recv_bytes",
                                                      "recv_wrs",
                                                      "rdma_read_wrs",
                                                      "rdma_read_bytes",
                                                      "rdma_read_wr_err",
                                                      "rdma_read_resp_bytes",
                                                      "rdma_write_wrs",
                                                      "rdma_write_bytes",
                                                      "rdma_write_wr_err",
                                                      "rdma_write_recv_bytes",
                                                      "retrans_bytes",
                                                      "retrans_pkts",
                                                      "retrans_timeout_events",
                                                      "unresponsive_remote_events",
                                                      "impaired_remote_conn_events"};
  return names;
}

}  // namespace nobs::sim
