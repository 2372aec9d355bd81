#include "agent/sources/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "agent/sources/instance.h"
#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

// Layout A, driver reference sections 3.3 and 3.4. What the verdict rests on is read at each cycle, the rest when metrics
// want it.
constexpr Identity kIdentities[] = {
    {Field::Architecture, {2, 7}, "info/architecture/arch_type"},
    {Field::InstanceFamily, {2, 8}, "info/architecture/instance_type"},
    {Field::DeviceName, {2, 8}, "info/architecture/device_name"},
    {Field::State, {2, 7}, "reset"},
    {Field::HwErrorEvent, {2, 28}, "stats/hardware/health_status/hw_error_event"},
    {Field::Components, {2, 30}, "stats/hardware/health_status/unhealthy_components"},
    {Field::Heartbeat, {2, 30}, "stats/hardware/health_status/healthcheck_heartbeat"},
    {Field::Power, {2, 21}, "stats/power/utilization"},
    {Field::Serial, {2, 15}, "info/serial_number"},
    {Field::MemoryUncorrected, {2, 14}, "stats/hardware/mem_ecc_uncorrected"},
    {Field::MemoryRepairable, {2, 23}, "stats/hardware/mem_ecc_repairable_uncorrected"},
    {Field::SramUncorrected, {2, 14}, "stats/hardware/sram_ecc_uncorrected"},
    {Field::SramCorrected, {2, 30}, "stats/hardware/sram_ecc_corrected"},
    {Field::MemoryCorrected, {2, 30}, "stats/hardware/mem_ecc_corrected"},
    {Field::CoreCounter, {2, 19}, "stats/status/hw_hbm_ue_error/total"},
    {Field::CoreCounter, {2, 23}, "stats/status/hw_repairable_hbm_ue_error/total"},
    {Field::CoreCounter, {2, 19}, "stats/status/hw_nc_ue_error/total"},
    {Field::CoreCounter, {2, 19}, "stats/status/hw_dma_abort_error/total"},
    {Field::CoreCounter, {2, 19}, "stats/status/hw_collectives_error/total"},
    {Field::CoreCounter, {2, 7}, "stats/status/hw_error/total"},
    {Field::CoreCounter, {2, 7}, "stats/status/timeout/total"},
    {Field::CoreCounter, {2, 8}, "stats/other_info/reset_req_count/total"},
    {Field::CoreCounter, {2, 8}, "stats/other_info/reset_fail_count/total"},
    {Field::CoreMemory, {2, 7}, "stats/memory_usage/device_mem/total"},
    {Field::ConnectedDevices, {2, 13}, "connected_devices"},
    {Field::CoreArchitecture, {2, 7}, "info/architecture/arch_type"},
    {Field::HostMemory, {2, 10}, "stats/memory_usage/host_mem/dma_buffers/total"},
    {Field::HostMemory, {2, 10}, "stats/memory_usage/host_mem/tensors/total"},
    {Field::HostMemory, {2, 10}, "stats/memory_usage/host_mem/constants/total"},
    {Field::HostMemory, {2, 10}, "stats/memory_usage/host_mem/application_memory/total"},
    {Field::HostMemory, {2, 17}, "stats/memory_usage/host_mem/driver_memory/total"},
    {Field::HostMemory, {2, 17}, "stats/memory_usage/host_mem/notifications/total"},
    {Field::HostMemory, {2, 18}, "stats/memory_usage/host_mem/dma_rings/total"},
    {Field::HostMemory, {2, 17}, "stats/memory_usage/host_mem/uncategorized/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/success/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/failure/total"},
    {Field::CoreTelemetry, {2, 8}, "stats/status/exec_bad_input/total"},
    {Field::CoreTelemetry, {2, 8}, "stats/status/execute_completed_with_error/total"},
    {Field::CoreTelemetry, {2, 8}, "stats/status/execute_completed_with_num_error/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/generic_error/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/resource_error/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/resource_nc_error/total"},
    {Field::CoreTelemetry, {2, 8}, "stats/status/execute_failed_to_queue/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/invalid_error/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/status/unsupported_neff_version/total"},
    {Field::CoreTelemetry, {2, 16}, "stats/status/oob_error/total"},
    {Field::CoreTelemetry, {2, 20}, "stats/status/execute_sw_nq_overflow/total"},
    {Field::CoreTelemetry, {2, 21}, "stats/status/execute_sw_semaphore_error/total"},
    {Field::CoreTelemetry, {2, 21}, "stats/status/execute_sw_event_error/total"},
    {Field::CoreTelemetry, {2, 21}, "stats/status/execute_sw_psum_collision/total"},
    {Field::CoreTelemetry, {2, 21}, "stats/status/execute_sw_sequencer_fatal/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/other_info/model_load_count/total"},
    {Field::CoreTelemetry, {2, 7}, "stats/other_info/inference_count/total"},
    {Field::CoreTelemetry, {2, 12}, "stats/other_info/flop_count/total"},
    {Field::CoreTelemetry, {2, 21}, "stats/other_info/nc_time_in_use/total"},
    {Field::CoreTelemetry, {2, 10}, "stats/memory_usage/device_mem/model_code/total"},
    {Field::CoreTelemetry, {2, 10}, "stats/memory_usage/device_mem/tensors/total"},
    {Field::CoreTelemetry, {2, 10}, "stats/memory_usage/device_mem/constants/total"},
    {Field::CoreTelemetry, {2, 10}, "stats/memory_usage/device_mem/model_shared_scratchpad/total"},
    {Field::CoreTelemetry, {2, 10}, "stats/memory_usage/device_mem/runtime_memory/total"},
    {Field::CoreTelemetry, {2, 17}, "stats/memory_usage/device_mem/driver_memory/total"},
    {Field::CoreTelemetry, {2, 17}, "stats/memory_usage/device_mem/collectives/total"},
    {Field::CoreTelemetry, {2, 17}, "stats/memory_usage/device_mem/nonshared_scratchpad/total"},
    {Field::CoreTelemetry, {2, 17}, "stats/memory_usage/device_mem/notifications/total"},
    {Field::CoreTelemetry, {2, 18}, "stats/memory_usage/device_mem/dma_rings/total"},
    {Field::CoreTelemetry, {2, 17}, "stats/memory_usage/device_mem/uncategorized/total"},
};

constexpr size_t kMaxCoreDigits = 3;

// "neuron_core5" with prefix "neuron_core" -> 5.
std::optional<int> index_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() > kMaxCoreDigits) return std::nullopt;
  const auto number = parse_u64(name);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// Any of core5, core_5, nc5, neuron_nc_5, neuroncore5, …
std::optional<int> loose_core(std::string_view name) {
  for (const std::string_view prefix : {"neuron_", "neuron"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  for (const std::string_view prefix : {"core_", "core", "nc_", "nc"})
    if (const auto index = index_after(name, prefix)) return index;
  return std::nullopt;
}

// The core whose directory a path is in; -1: none.
int core_of(const std::vector<std::string_view>& parts) {
  const auto directories = std::vector(parts.rbegin() + 1, parts.rend());
  for (const std::string_view name : directories)
    if (const auto index = index_after(name, "neuron_core")) return *index;
  for (const std::string_view name : directories)
    if (const auto index = loose_core(name)) return *index;
  return -1;
}

using Found = std::map<std::pair<int, const Identity*>, std::string>;  // by core, in table order

Found by_table(const std::vector<std::string>& files) {
  Found found;
  for (const std::string& file : files) {
    int core = -1;
    std::string_view rest = file;
    if (const size_t slash = rest.find('/'); slash != std::string_view::npos)
      if (const auto index = index_after(rest.substr(0, slash), "neuron_core")) {
        core = *index;
        rest.remove_prefix(slash + 1);
      }
    for (const Identity& identity : kIdentities)
      if (identity.path == rest && identity.is_core() == (core >= 0))
        found.emplace(std::pair(core, &identity), file);
  }
  return found;
}

// The rules of driver reference section 4.3.
Found by_name(const std::vector<std::string>& files, int& conflicts) {
  Found found;
  std::set<std::pair<int, const Identity*>> doubled;
  const std::set<std::string_view> all(files.begin(), files.end());
  for (const std::string& file : files) {
    const std::vector<std::string_view> parts = split(file, '/');
    std::string_view name = parts.back();
    const bool is_counter = name == "total" && parts.size() > 1;
    if (is_counter) {
      const std::string present = file.substr(0, file.size() - name.size()) + "present";
      if (!all.contains(present)) continue;
      name = parts[parts.size() - 2];
    }
    const int core = core_of(parts);
    for (const Identity& identity : kIdentities) {
      if (identity.name() != name || identity.is_counter() != is_counter ||
          identity.is_core() != (core >= 0))
        continue;
      if (!identity.within().empty() && std::ranges::find(parts, identity.within()) == parts.end())
        continue;
      const auto [at, is_new] = found.emplace(std::pair(core, &identity), file);
      if (is_new) continue;
      doubled.insert(at->first);
      if (std::pair(file.size(), file) < std::pair(at->second.size(), at->second))
        at->second = file;
    }
  }
  conflicts = static_cast<int>(doubled.size());
  return found;
}

// Something that says how the device is, not only what it is.
bool tells_health(const Found& found) {
  return std::ranges::any_of(found, [](const auto& item) {
    const Field field = item.first.second->field;
    return field > Field::State && field <= Field::CoreCounter && field != Field::Power &&
           field != Field::Serial && field != Field::ConnectedDevices &&
           field != Field::CoreArchitecture;
  });
}

}  // namespace

std::string_view Identity::within() const {
  for (const std::string_view directory : {"host_mem", "device_mem"})
    if (const size_t at = without_total().find(directory);
        at != std::string_view::npos && at + directory.size() < without_total().size())
      return directory;
  return "";
}

std::string_view Identity::key() const {
  return within().empty() ? name() : without_total().substr(without_total().find(within()));
}

std::vector<std::string_view> telemetry_keys() {
  std::vector<std::string_view> keys;
  for (const Identity& identity : kIdentities)
    if (identity.is_telemetry()) keys.push_back(identity.key());
  return keys;
}

std::optional<Version> first_driver_with(std::string_view key) {
  for (const Identity& identity : kIdentities)
    if (identity.key() == key) return identity.since;
  return std::nullopt;
}

DeviceLayout find_layout(const std::optional<Version>& version,
                         const std::vector<std::string>& files) {
  DeviceLayout layout;
  int conflicts = 0;
  const Found named = by_name(files, conflicts);
  const Found tabled = by_table(files);
  const bool expect_a = !version || *version < kFirstLayoutB;
  // The version only says what to try first: a table that finds less than the names do is the wrong table.
  const bool is_a = expect_a && tabled.size() >= named.size();
  const Found& found = is_a ? tabled : named;
  if (!tells_health(found)) return layout;
  layout.layout = is_a ? Layout::A : Layout::B;
  layout.conflicts = is_a ? 0 : conflicts;
  for (const auto& [key, path] : found) {
    layout.places.push_back({key.second, key.first, path});
    if (key.first >= 0 && (layout.cores.empty() || layout.cores.back() != key.first))
      layout.cores.push_back(key.first);
  }
  return layout;
}

std::vector<std::string> find_missing(const DeviceLayout& layout,
                                      const std::optional<Version>& version,
                                      std::string_view family) {
  std::vector<std::string> missing;
  if (!version) return missing;
  const Family* facts = find_family(family);
  for (const Identity& identity : kIdentities) {
    if (*version < identity.since) continue;
    if (identity.is_health() && (facts == nullptr || !facts->has_health_directory)) continue;
    const auto found = std::ranges::count(layout.places, &identity, &Place::identity);
    const auto cores = static_cast<size_t>(facts == nullptr ? 1 : facts->cores_per_device);
    const size_t wanted = identity.is_core() ? std::max(layout.cores.size(), cores) : 1;
    if (static_cast<size_t>(found) < wanted) missing.emplace_back(identity.name());
  }
  return missing;
}

}  // namespace nobs::sources
