#include "agent/telemetry/families.h"

#include <algorithm>
#include <cmath>

namespace nobs::telemetry {
namespace {

std::vector<std::string> label_names(Scope scope) {
  switch (scope) {
    case Scope::Device:
      return {"neuron_device_index"};
    case Scope::Core:
      return {"neuron_device_index", "neuroncore"};
    case Scope::Vcpu:
      return {"vcpu"};
    case Scope::Efa:
      return {"efa_device", "efa_port"};
    case Scope::System:
      return {};
  }
  return {};
}

// Where an entity belongs in a roll-up to this scope: the values of label_names(scope).
std::vector<std::string> labels_of(const Entity& entity, Scope scope) {
  switch (scope) {
    case Scope::Device:
      return {std::to_string(entity.device)};
    case Scope::Core:
      return {std::to_string(entity.device), std::to_string(entity.neuroncore)};
    case Scope::Vcpu:
      return {std::to_string(entity.cpu)};
    case Scope::Efa:
      return {entity.efa_device, entity.efa_port};
    case Scope::System:
      return {};
  }
  return {};
}

// Nearest rank.
double percentile(std::vector<double>& values, double part) {
  const auto rank =
      static_cast<size_t>(std::max(0.0, std::ceil(part * static_cast<double>(values.size())) - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  return values[rank];
}

double rolled_up(std::vector<double>& values, Strategy strategy) {
  double sum = 0;
  for (const double value : values) sum += value;
  switch (strategy) {
    case Strategy::Sum:
      return sum;
    case Strategy::Avg:
      return sum / static_cast<double>(values.size());
    case Strategy::Min:
      return *std::ranges::min_element(values);
    case Strategy::Max:
      return *std::ranges::max_element(values);
    case Strategy::P50:
      return percentile(values, 0.5);
    case Strategy::P99:
      return percentile(values, 0.99);
  }
  return 0;
}

struct Group {
  const Entity* first = nullptr;
  std::vector<double> values;
  bool is_shown = false;  // one of its members is there
};

metrics::Family family_of(const Export& entry) {
  metrics::Family family;
  family.name = entry.name;
  family.unit = entry.metric->unit;
  family.help = entry.metric->help;
  if (!entry.is_native)
    family.help += " The " + std::string(to_string(entry.strategy)) + " by " +
                   std::string(to_string(entry.scope)) + ".";
  family.type = entry.is_counter() ? metrics::Type::Counter : metrics::Type::Gauge;
  return family;
}

// A counter's total and a gauge's present value.
bool counts(const Meter& meter, const Export& entry) {
  return entry.is_counter() ? meter.is_known : meter.is_present;
}

void fill(metrics::Family& family, const Export& entry, const Meters& meters) {
  const size_t slot = slot_of(*entry.metric);
  const Scope scope = entry.is_native ? entry.metric->scope : entry.scope;
  family.label_names = label_names(scope);
  // Small keys, in the order in which people count.
  std::map<std::tuple<int, int, int, std::string, std::string>, Group> groups;
  for (const Entity& entity : meters.entities(entry.metric->scope)) {
    const Meter& meter = entity.meters[slot];
    if (!counts(meter, entry)) continue;
    const bool by_core = scope == Scope::Core, by_efa = scope == Scope::Efa;
    auto& group = groups[{by_core || scope == Scope::Device ? entity.device : 0,
                          by_core ? entity.core : 0, scope == Scope::Vcpu ? entity.cpu : 0,
                          by_efa ? entity.efa_device : "", by_efa ? entity.efa_port : ""}];
    if (group.first == nullptr) group.first = &entity;
    group.values.push_back(meter.value);
    group.is_shown |= meter.is_present || scope == Scope::System;
  }
  for (auto& [key, group] : groups) {
    if (!group.is_shown) continue;
    metrics::Point point;
    point.labels = labels_of(*group.first, scope);
    point.value = entry.is_native ? group.values.front() : rolled_up(group.values, entry.strategy);
    family.points.push_back(std::move(point));
  }
}

metrics::Family info_family(Scope scope, const std::string& name,
                            const std::vector<std::string>& labels) {
  metrics::Family family;
  family.name = "neuron." + std::string(to_string(scope)) + "." + name;
  family.help = scope == Scope::System ? "1: what this node is." : "1: what this device is.";
  family.label_names = labels;
  return family;
}

void add_info(metrics::Family& family, const NodeFacts& facts) {
  metrics::Point point;
  for (const auto& label : family.label_names) {
    const auto found = facts.find(label);
    point.labels.push_back(found == facts.end() ? "" : found->second);
  }
  point.value = 1;
  family.points.push_back(std::move(point));
}

}  // namespace

std::vector<metrics::Family> families_of(const Meters& meters, const Exports& exports) {
  std::vector<metrics::Family> families;
  for (const Export& entry : exports.list) {
    if (entry.metric->origin == Origin::Nowhere) continue;
    metrics::Family family = family_of(entry);
    fill(family, entry, meters);
    if (!family.points.empty()) families.push_back(std::move(family));
  }
  return families;
}

std::vector<metrics::Family> info_families(const sources::NodeReading& reading,
                                           const sources::UltraServer& ultraserver,
                                           const NodeFacts& facts, const Meters& meters,
                                           const Exports& exports) {
  std::vector<metrics::Family> families;
  if (const auto wanted = exports.info.find("system_info"); wanted != exports.info.end()) {
    NodeFacts known = facts;
    if (!reading.instance_type.empty()) known["instance_type"] = reading.instance_type;
    known["ultraserver_id"] = ultraserver.id;
    known["ultraserver_mode"] = ultraserver.mode;
    if (ultraserver.size) known["ultraserver_size"] = std::to_string(*ultraserver.size);
    if (ultraserver.index) known["ultraserver_instance_index"] = std::to_string(*ultraserver.index);
    families.push_back(info_family(Scope::System, "system_info", wanted->second));
    add_info(families.back(), known);
  }
  if (const auto wanted = exports.info.find("device_info"); wanted != exports.info.end()) {
    auto labels = wanted->second;
    labels.insert(labels.begin(), "neuron_device_index");
    auto family = info_family(Scope::Device, "device_info", labels);
    for (const auto& device : reading.devices) {
      if (device.problem != sources::ReadProblem::None) continue;
      const int size = meters.logical_core_size(device.instance_family);
      NodeFacts known;
      known["neuron_device_index"] = std::to_string(device.index);
      known["device_arch_type"] = device.architecture;
      known["core_arch_type"] = device.core_architecture;
      known["device_name"] = device.device_name;
      known["physical_neuroncore_per_device_count"] = std::to_string(device.cores.size());
      known["logical_neuroncore_per_device_count"] =
          std::to_string(device.cores.size() / static_cast<size_t>(size));
      known["serial_number"] = device.serial;
      known["driver_version"] = reading.driver_version;
      known["connected_devices"] = device.connected_devices;
      known["logical_neuroncore_config"] = std::to_string(size);
      add_info(family, known);
    }
    if (!family.points.empty()) families.push_back(std::move(family));
  }
  return families;
}

}  // namespace nobs::telemetry
