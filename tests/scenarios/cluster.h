// A small cluster for scenarios: Nodes with simulated drivers, an agent each, operators, people.
//
// Everything happens through the API as users see it, so the same scenario runs on the embedded API and on a real
// kube-apiserver. Timings are shortened: cycles of 50 ms, quiet times of a second, leases of two.
//
//   Cluster cluster({.nodes = {"a", "b"}});
//   cluster.start_operator();
//   cluster.node("a").driver().hbm_uncorrectable(3);
//   REQUIRE(cluster.eventually([&] { return cluster.node("a").is_quarantined(); }));
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/api/names.h"
#include "shared/api/neuron_device.h"
#include "shared/api/node.h"
#include "shared/kube/client.h"
#include "tests/scenarios/backend.h"
#include "tests/scenarios/fault_proxy.h"
#include "tests/scenarios/process.h"
#include "tests/sim/tree/tree.h"

namespace nobs::test {

class Cluster;

class SimNode {
 public:
  SimNode(Cluster& cluster, std::string name, sim::TreeOptions tree);

  const std::string& name() const { return name_; }
  sim::DriverTree& driver() { return tree_; }

  void start_agent(std::vector<std::string> more_flags = {});
  Process& agent() { return *agent_; }
  bool has_agent() const { return agent_ != nullptr; }
  void kill_agent();

  // ---- as the API shows it
  json::Value object() const;  // null: not there
  api::Node node() const;
  bool is_quarantined() const;  // our taint and a cordon
  bool has_our_taint() const;
  bool is_unschedulable() const { return node().unschedulable; }
  std::optional<api::Quarantine> note() const;
  std::optional<api::NeuronDevice> device(int index) const;
  bool all_healthy() const;       // every device is published, and healthy
  std::string condition() const;  // status of NeuronDevicesHealthy

 private:
  Cluster& cluster_;
  std::string name_;
  std::string directory_;
  sim::DriverTree tree_;
  std::unique_ptr<Process> agent_;
};

class Cluster {
 public:
  struct Options {
    std::vector<std::string> nodes = {"a"};
    std::string instance = "trn2.3xlarge";   // one device: enough where the number does not matter
    std::string policy = "{mode: Enforce}";  // spec, merged over a quiet time of a second
    bool start_agents = true;
    std::map<std::string, json::Value> node_objects;  // instead of a bare Node
  };

  explicit Cluster(Options options);
  ~Cluster();

  Backend& backend();
  FaultProxy& proxy() { return *proxy_; }
  kube::Client& admin() { return *admin_; }  // not through the proxy
  kube::Client& alice() { return *alice_; }
  SimNode& node(const std::string& name) { return *nodes_.at(name); }
  const std::string& ns() const { return ns_; }
  const std::string& directory() const { return directory_; }

  Process& start_operator(const std::string& identity = "operator-1",
                          std::vector<std::string> more_flags = {});
  Process& operator_process(const std::string& identity = "operator-1") {
    return *operators_.at(identity);
  }

  void set_policy(const json::Value& spec);
  void create_node(const std::string& name);
  void delete_node(const std::string& name);
  // A merge patch by a person, as kubectl cordon or annotate sends it.
  void patch_node(kube::Client& who, const std::string& name, const json::Value& patch);
  void cordon(kube::Client& who, const std::string& name) { set_unschedulable(who, name, true); }
  void uncordon(kube::Client& who, const std::string& name) { set_unschedulable(who, name, false); }
  // Reasons of the Events about a node.
  std::vector<std::string> event_reasons(const std::string& node);

  // Within the limit of scenarios, generous: what is asserted is that it happens.
  bool eventually(const std::function<bool()>& condition,
                  std::chrono::milliseconds limit = std::chrono::seconds(30));
  // Stays true for as long: for what must not happen.
  bool always(const std::function<bool()>& condition, std::chrono::milliseconds duration);

  std::stop_token no_stop() const { return {}; }

 private:
  void set_unschedulable(kube::Client& who, const std::string& name, bool value);
  void clean();

  std::string ns_;
  std::string directory_;
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<kube::Client> admin_, alice_;
  std::map<std::string, json::Value> node_objects_;
  std::map<std::string, std::unique_ptr<SimNode>> nodes_;
  std::map<std::string, std::unique_ptr<Process>> operators_;
};

}  // namespace nobs::test
