// What the operator knows of the cluster: Nodes, NeuronDevices, heartbeats and policies as reduced structs.
//
// Filled by four watches, read by the reconciler. Thread-safe. `when_changed` is told the names of nodes whose picture
// changed, on a watch's thread; it must not call back into the cache.
//
//   watch::Cache cache(logger, [&](const std::string& node) { queue.add(node); });
//   Reflector nodes(client, …, {.type = api::kNodes}, cache.node_handlers());
//   if (auto view = cache.view("node-a")) plan(*view, now);
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/decide/plan.h"
#include "operator/watch/table.h"
#include "shared/log/logger.h"
#include "shared/runtime/reflector.h"

namespace nobs::watch {

struct Counts {
  int nodes = 0, quarantined = 0, devices = 0, healthy = 0, unhealthy = 0, unknown = 0, silent = 0;
};

// What a policy amounts to, over all its pools.
struct PolicySummary {
  api::Policy policy;
  int nodes = 0, quarantined = 0, limit = 0;
  std::vector<std::string> names;  // of its Neuron nodes
};

class Cache {
 public:
  using WhenChanged = std::function<void(const std::string& node)>;

  Cache(const log::Logger& logger, WhenChanged when_changed);

  // For a new term: nothing is known any more.
  void clear();

  runtime::ReflectorHandlers node_handlers();
  runtime::ReflectorHandlers device_handlers();
  runtime::ReflectorHandlers lease_handlers();
  runtime::ReflectorHandlers policy_handlers();

  // Everything was listed whole at least once: only then may a decision rest on what is not there.
  bool synced() const;
  // Nothing: the Node does not exist, or not everything is known yet. Without the budget's answer.
  std::optional<decide::NodeView> view(const std::string& node) const;
  std::vector<std::string> neuron_nodes() const;
  std::vector<PolicySummary> policy_summaries() const;
  // The live Neuron nodes of a policy's pool, and how many of them we hold. Deleted Nodes do not count.
  decide::PoolUse pool_use(const api::Policy& policy, const std::string& pool) const;
  // When the quarantines in force began, by pool, oldest first: what a new leader knows of the past.
  decide::History begun() const;
  Counts counts(WallTime now) const;
  // What a write of ours was answered with: known at once, without waiting for the watch.
  void learn_node(const json::Value& object);

 private:
  bool all_listed() const;
  bool is_neuron(const std::string& node) const;
  const api::Policy* policy_for(const api::Node& node) const;
  template <typename Row>
  runtime::ReflectorHandlers handlers(Table<Row>& table, void (Cache::*put)(const json::Value&),
                                      std::set<std::string> (Cache::*gone)(const Row&));
  void store_node(const json::Value& object, bool only_newer);
  void put_node(const json::Value& object);
  void put_device(const json::Value& object);
  void put_lease(const json::Value& object);
  void put_policy(const json::Value& object);
  // A row that is gone, under the lock: which nodes that concerns.
  std::set<std::string> node_gone(const api::Node& node);
  std::set<std::string> device_gone(const api::NeuronDevice& device);
  std::set<std::string> lease_gone(const api::Heartbeat& heartbeat);
  std::set<std::string> policy_gone(const api::Policy& policy);
  void tell(const std::set<std::string>& nodes) const;
  std::set<std::string> all_names() const;

  const log::Logger& logger_;
  WhenChanged when_changed_;
  mutable std::mutex mutex_;
  Table<api::Node> nodes_;
  Table<api::NeuronDevice> devices_;
  Table<api::Heartbeat> heartbeats_;
  Table<api::Policy> policies_;
  std::map<std::string, std::set<std::string>> devices_of_;  // by node name
};

}  // namespace nobs::watch
