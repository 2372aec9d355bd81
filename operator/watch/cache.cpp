#include "operator/watch/cache.h"

#include <algorithm>

#include "shared/api/names.h"

namespace nobs::watch {
namespace {

std::string name_of(const json::Value& object) { return object["metadata"]["name"].string_or(""); }

}  // namespace

Cache::Cache(const log::Logger& logger, WhenChanged when_changed)
    : logger_(logger), when_changed_(std::move(when_changed)) {}

void Cache::clear() {
  const std::lock_guard lock(mutex_);
  nodes_ = {};
  devices_ = {};
  heartbeats_ = {};
  policies_ = {};
  devices_of_.clear();
}

void Cache::tell(const std::set<std::string>& nodes) const {
  for (const auto& node : nodes) when_changed_(node);
}

std::set<std::string> Cache::all_names() const {
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_.rows()) names.insert(name);
  return names;
}

bool Cache::all_listed() const {
  return nodes_.listed() && devices_.listed() && heartbeats_.listed() && policies_.listed();
}

bool Cache::synced() const {
  const std::lock_guard lock(mutex_);
  return all_listed();
}

void Cache::store_node(const json::Value& object, bool only_newer) {
  auto node = api::parse_node(object);
  if (!node)
    return logger_.warn("node is unreadable",
                        {{"node", name_of(object)}, {"error", node.error().message}});
  const std::string name = node->name;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    const auto* known = nodes_.find(name);
    if (known && only_newer && known->uid == node->uid &&
        kube::is_older_version(node->resource_version, known->resource_version))
      return;
    const auto before = nodes_.put(name, *node);
    // A kubelet writes its Node's status every few minutes; only what decisions read wakes anybody.
    auto now = *node;
    if (before) now.resource_version = before->resource_version;
    changed = !before || !(*before == now);
  }
  if (changed) when_changed_(name);
}

void Cache::put_node(const json::Value& object) { store_node(object, false); }

void Cache::learn_node(const json::Value& object) { store_node(object, true); }

void Cache::put_device(const json::Value& object) {
  auto device = api::parse_device(object);
  if (!device) {
    return logger_.warn("device is unreadable",
                        {{"device", name_of(object)}, {"error", device.error().message}});
  }
  std::set<std::string> affected{device->node};
  {
    const std::lock_guard lock(mutex_);
    const std::string name = device->name;
    const std::string node = device->node;
    const auto before = devices_.put(name, std::move(*device));
    if (before && before->node != node) {
      devices_of_[before->node].erase(name);
      affected.insert(before->node);
    }
    devices_of_[node].insert(name);
  }
  tell(affected);
}

void Cache::put_lease(const json::Value& object) {
  // The namespace holds other Leases too, the leader's among them.
  if (!name_of(object).starts_with(api::kHeartbeatPrefix) || name_of(object) == api::kLeaderLease)
    return;
  auto heartbeat = api::parse_heartbeat(object);
  if (!heartbeat) return logger_.debug("lease is no heartbeat", {{"lease", name_of(object)}});
  const std::string node = heartbeat->node;
  {
    const std::lock_guard lock(mutex_);
    const auto before = heartbeats_.put(heartbeat->name, *heartbeat);
    // A renewal in time changes no decision: 5,000 nodes renew 170 times a second.
    if (before && before->node_uid == heartbeat->node_uid &&
        heartbeat->renewed - before->renewed <= before->duration) {
      return;
    }
  }
  when_changed_(node);
}

void Cache::put_policy(const json::Value& object) {
  auto policy = api::parse_policy(object);
  std::set<std::string> affected;
  {
    const std::lock_guard lock(mutex_);
    const std::string name = policy.name;
    const auto before = policies_.put(name, policy);
    if (before && *before == policy) return;
    affected = all_names();
  }
  if (!policy.not_enforced.empty()) {
    logger_.warn("policy is not enforced",
                 {{"policy", policy.name}, {"reason", policy.not_enforced}});
  }
  tell(affected);
}

template <typename Row>
runtime::ReflectorHandlers Cache::handlers(Table<Row>& table,
                                           void (Cache::*put)(const json::Value&),
                                           std::set<std::string> (Cache::*gone)(const Row&)) {
  return {
      .begin_list =
          [this, &table] {
            const std::lock_guard lock(mutex_);
            table.begin_list();
          },
      .upsert = [this, put](const json::Value& object) { (this->*put)(object); },
      .remove =
          [this, &table, gone](const json::Value& object) {
            std::set<std::string> affected;
            {
              const std::lock_guard lock(mutex_);
              if (const auto row = table.erase(name_of(object))) affected = (this->*gone)(*row);
            }
            tell(affected);
          },
      .end_list =
          [this, &table, gone] {
            std::set<std::string> affected;
            {
              const std::lock_guard lock(mutex_);
              for (const auto& row : table.end_list()) (this->*gone)(row);
              affected = all_names();
            }
            tell(affected);
          },
  };
}

runtime::ReflectorHandlers Cache::node_handlers() {
  return handlers(nodes_, &Cache::put_node, &Cache::node_gone);
}

runtime::ReflectorHandlers Cache::device_handlers() {
  return handlers(devices_, &Cache::put_device, &Cache::device_gone);
}

runtime::ReflectorHandlers Cache::lease_handlers() {
  return handlers(heartbeats_, &Cache::put_lease, &Cache::lease_gone);
}

runtime::ReflectorHandlers Cache::policy_handlers() {
  return handlers(policies_, &Cache::put_policy, &Cache::policy_gone);
}

// Its place in the budget is free: whoever waits for one may go.
std::set<std::string> Cache::node_gone(const api::Node&) { return all_names(); }

std::set<std::string> Cache::device_gone(const api::NeuronDevice& device) {
  if (const auto found = devices_of_.find(device.node); found != devices_of_.end()) {
    found->second.erase(device.name);
    if (found->second.empty()) devices_of_.erase(found);
  }
  return {device.node};
}

std::set<std::string> Cache::lease_gone(const api::Heartbeat& heartbeat) {
  return {heartbeat.node};
}

std::set<std::string> Cache::policy_gone(const api::Policy&) { return all_names(); }

bool Cache::is_neuron(const std::string& node) const { return devices_of_.contains(node); }

const api::Policy* Cache::policy_for(const api::Node& node) const {
  // The most careful wins where several select a node; the name decides between equals, so that it is the same each time.
  const api::Policy* chosen = nullptr;
  for (const auto& [name, policy] : policies_.rows()) {
    if (!api::selects(policy, node.labels)) continue;
    if (!chosen || static_cast<int>(policy.mode) > static_cast<int>(chosen->mode)) chosen = &policy;
  }
  return chosen;
}

std::optional<decide::NodeView> Cache::view(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto* node = nodes_.find(name);
  if (!node || !all_listed()) return std::nullopt;
  decide::NodeView view;
  view.node = *node;
  if (const auto found = devices_of_.find(name); found != devices_of_.end()) {
    for (const auto& device : found->second) view.devices.push_back(*devices_.find(device));
  }
  if (const auto* heartbeat = heartbeats_.find(api::heartbeat_name(name)))
    view.heartbeat = *heartbeat;
  if (const auto* policy = policy_for(*node)) view.policy = *policy;
  return view;
}

std::vector<std::string> Cache::neuron_nodes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_.rows()) {
    if (is_neuron(name)) names.push_back(name);
  }
  return names;
}

std::vector<PolicySummary> Cache::policy_summaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<PolicySummary> list;
  for (const auto& [policy_name, policy] : policies_.rows()) {
    PolicySummary summary{policy, 0, 0, 0, {}};
    std::map<std::string, int> pools;
    for (const auto& [name, node] : nodes_.rows()) {
      if (node.deleting || !is_neuron(name) || policy_for(node) != &policy) continue;
      ++summary.nodes;
      ++pools[api::pool_of(policy, node.labels)];
      summary.names.push_back(name);
      const auto ours = decide::own_quarantine(node);
      if (ours && ours->active) ++summary.quarantined;
    }
    for (const auto& [pool, nodes] : pools) summary.limit += decide::budget_limit(policy, nodes);
    list.push_back(std::move(summary));
  }
  return list;
}

decide::PoolUse Cache::pool_use(const api::Policy& policy, const std::string& pool) const {
  const std::lock_guard lock(mutex_);
  decide::PoolUse use;
  for (const auto& [name, node] : nodes_.rows()) {
    if (node.deleting || !is_neuron(name)) continue;
    // Where several policies select a node, it counts for the one that decides about it.
    const auto* deciding = policy_for(node);
    if (!deciding || deciding->name != policy.name) continue;
    if (api::pool_of(policy, node.labels) != pool) continue;
    ++use.nodes;
    const auto ours = decide::own_quarantine(node);
    if (ours && ours->active) ++use.unavailable;
  }
  return use;
}

decide::History Cache::begun() const {
  const std::lock_guard lock(mutex_);
  decide::History history;
  for (const auto& [name, node] : nodes_.rows()) {
    const auto ours = decide::own_quarantine(node);
    const auto* policy = policy_for(node);
    if (ours && policy) history[api::pool_of(*policy, node.labels)].push_back({ours->since, name});
  }
  for (auto& [pool, times] : history) {
    std::sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  }
  return history;
}

Counts Cache::counts(WallTime now) const {
  const std::lock_guard lock(mutex_);
  Counts counts;
  for (const auto& [name, node] : nodes_.rows()) {
    if (!is_neuron(name)) continue;
    ++counts.nodes;
    const auto ours = decide::own_quarantine(node);
    if (ours && ours->active) ++counts.quarantined;
    const auto* heartbeat = heartbeats_.find(api::heartbeat_name(name));
    if (!heartbeat || heartbeat->node_uid != node.uid || !heartbeat->alive(now)) ++counts.silent;
  }
  for (const auto& [name, device] : devices_.rows()) {
    ++counts.devices;
    if (device.health == api::Health::Healthy) ++counts.healthy;
    if (device.health == api::Health::Unhealthy) ++counts.unhealthy;
    if (device.health == api::Health::Unknown) ++counts.unknown;
  }
  return counts;
}

}  // namespace nobs::watch
