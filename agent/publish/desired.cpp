#include "agent/publish/desired.h"

#include <algorithm>

#include "agent/health/judge.h"
#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

namespace nobs::publish {
namespace {

constexpr size_t kMaxFaults =
    32;  // as the CRD bounds it; classes are fewer, epochs can repeat them

std::optional<std::int64_t> signed_count(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

// What is published about ECC is what was accepted: a restart counts from there.
std::optional<std::int64_t> accepted(const health::SlotMemory& slot, std::string_view counter) {
  const auto found = slot.baseline.find(counter);
  return found == slot.baseline.end() ? std::nullopt
                                      : std::optional(static_cast<std::int64_t>(found->second));
}

void split_faults(const health::SlotMemory& slot, api::NeuronDevice& device) {
  std::vector<api::Fault> faults = slot.faults;
  std::stable_sort(faults.begin(), faults.end(),
                   [](const auto& a, const auto& b) { return a.generation > b.generation; });
  // Also when its faults are gone: a restart must not give a generation out twice.
  device.generation = slot.generation;
  for (auto& fault : faults) {
    auto& list = fault.severity == api::Severity::Fatal ? device.faults : device.warnings;
    device.generation = std::max(device.generation, fault.generation);
    if (list.size() < kMaxFaults) list.push_back(std::move(fault));
  }
  if (!device.faults.empty()) {
    device.action = device.faults.front().action;
  } else if (!device.warnings.empty()) {
    device.action = device.warnings.front().action;
  }
}

}  // namespace

std::vector<api::NeuronDevice> desired_devices(const Report& report, const std::string& node,
                                               const std::string& node_uid) {
  std::vector<api::NeuronDevice> devices;
  for (const auto& [index, slot] : report.memory.slots) {
    api::NeuronDevice device;
    device.name = api::device_name(node, index);
    device.node = node;
    device.node_uid = node_uid;
    device.index = index;
    device.instance_id = report.reading.instance_id;
    device.serial = slot.serial;
    device.health = slot.health;
    device.reason = slot.reason;
    device.message = slot.message;
    device.since = slot.since;
    split_faults(slot, device);
    const auto& last = slot.last;
    device.device = {.name = last.device_name,
                     .architecture = last.architecture,
                     .instance_type = report.reading.instance_type,
                     .driver_version = report.reading.driver_version,
                     .cores = static_cast<int>(last.cores.size()),
                     .memory_bytes = last.memory_bytes,
                     .layout = std::string(to_string(report.reading.layout)),
                     .capabilities = health::capabilities(last, report.reading.driver_version)};
    device.ecc = {accepted(slot, "sram_ecc_uncorrected"), accepted(slot, "mem_ecc_uncorrected"),
                  accepted(slot, "mem_ecc_repairable_uncorrected"),
                  signed_count(last.ecc.sram_corrected), signed_count(last.ecc.memory_corrected)};
    device.boot_id = report.reading.boot_id;
    device.epoch = slot.epoch.empty() ? report.reading.epoch : slot.epoch;
    device.reported = report.at;
    json::Value object = api::device_object(device);
    object["status"] = api::device_status(device);
    // Through JSON and back: what is compared is what the server can hold.
    if (auto normal = api::parse_device(object)) devices.push_back(std::move(*normal));
  }
  return devices;
}

json::Value condition_patch(const health::NodeVerdict& verdict, const json::Value& current,
                            WallTime now) {
  const std::string status = current["status"].string_or("");
  if (status == verdict.status && current["reason"].string_or("") == verdict.reason &&
      current["message"].string_or("") == verdict.message) {
    return {};
  }
  const std::string since = status == verdict.status
                                ? current["lastTransitionTime"].string_or(format_seconds(now))
                                : format_seconds(now);
  return json::object(
      {{"status", json::object({{"conditions", json::array({json::object({
                                                   {"type", api::kNodeCondition},
                                                   {"status", verdict.status},
                                                   {"reason", verdict.reason},
                                                   {"message", verdict.message},
                                                   {"lastHeartbeatTime", format_seconds(now)},
                                                   {"lastTransitionTime", since},
                                               })})}})}});
}

Difference difference(const api::NeuronDevice& desired, const api::NeuronDevice& published) {
  if (!published.has_status) return Difference::Now;
  const auto same = [](const std::vector<api::Fault>& a, const std::vector<api::Fault>& b,
                       bool with_counts) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [&](const api::Fault& x, const api::Fault& y) {
          if (with_counts) return x == y;
          return x.fault == y.fault && x.severity == y.severity && x.serial == y.serial &&
                 x.epoch == y.epoch && x.generation == y.generation && x.verified == y.verified &&
                 x.count == y.count;
        });
  };
  if (desired.health != published.health || desired.reason != published.reason ||
      desired.since != published.since || desired.generation != published.generation ||
      desired.device != published.device || desired.boot_id != published.boot_id ||
      desired.epoch != published.epoch || !same(desired.faults, published.faults, false) ||
      !same(desired.warnings, published.warnings, false)) {
    return Difference::Now;
  }
  const bool all_same = desired.message == published.message &&
                        desired.action == published.action && desired.ecc == published.ecc &&
                        same(desired.faults, published.faults, true) &&
                        same(desired.warnings, published.warnings, true);
  return all_same ? Difference::None : Difference::Slow;
}

}  // namespace nobs::publish
