#include "tests/scenarios/cluster.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "shared/config/options.h"
#include "tests/support/eventually.h"

namespace nobs::test {
namespace {

const ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};

SystemClock& clock() {
  static SystemClock system;
  return system;
}

Backend& shared_backend() {
  static Backend backend;
  return backend;
}

json::Value bare_node(const std::string& name) {
  // A label, because a real server keeps no managedFields for an object without fields.
  return json::object({
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", json::object({{"name", name},
                                 {"labels", json::object({{"kubernetes.io/hostname", name}})}})},
  });
}

}  // namespace

// ---- SimNode

SimNode::SimNode(Cluster& cluster, std::string name, sim::TreeOptions tree)
    : cluster_(cluster),
      name_(std::move(name)),
      directory_(cluster.directory() + "/" + name_),
      tree_(
          [&] {
            std::filesystem::create_directories(directory_);
            return directory_ + "/host";
          }(),
          std::move(tree)) {}

void SimNode::start_agent(std::vector<std::string> more_flags) {
  std::vector<std::string> command = {program("neuron-observer-agent"),
                                      "--node-name=" + name_,
                                      "--kubeconfig=" + cluster_.proxy().kubeconfig(),
                                      "--namespace=" + cluster_.ns(),
                                      "--collection.sysfs_path=" + tree_.root() + "/sys",
                                      "--collection.proc_path=" + tree_.root() + "/proc",
                                      "--collection.interval=50ms",
                                      "--health.quiet_time=1s",
                                      "--health.missing_after=200ms",
                                      "--health.unreachable_after=1s",
                                      "--heartbeat.interval=1s",
                                      "--daemon.port=0",
                                      "--daemon.socket=",
                                      "--log.level=debug"};
  command.insert(command.end(), more_flags.begin(), more_flags.end());
  agent_ = std::make_unique<Process>(command, directory_ + "/agent.log");
}

void SimNode::kill_agent() {
  if (agent_) agent_->kill();
}

json::Value SimNode::object() const {
  auto object = cluster_.admin().get(api::kNodes, "", name_, {});
  return object ? std::move(*object) : json::Value();
}

api::Node SimNode::node() const {
  auto parsed = api::parse_node(object());
  return parsed ? std::move(*parsed) : api::Node{};
}

bool SimNode::has_our_taint() const {
  for (const auto& taint : node().taints) {
    if (taint.key == api::kTaintKey) return true;
  }
  return false;
}

bool SimNode::is_quarantined() const { return has_our_taint() && is_unschedulable(); }

std::optional<api::Quarantine> SimNode::note() const {
  const auto now = node();
  if (!now.quarantine_text) return std::nullopt;
  auto parsed = api::parse_quarantine(*now.quarantine_text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::optional<api::NeuronDevice> SimNode::device(int index) const {
  auto object = cluster_.admin().get(api::kNeuronDevices, "", api::device_name(name_, index), {});
  if (!object) return std::nullopt;
  auto parsed = api::parse_device(*object);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

bool SimNode::all_healthy() const {
  for (int index = 0; index < tree_.devices(); ++index) {
    const auto published = device(index);
    if (!published || published->health != api::Health::Healthy) return false;
  }
  return true;
}

std::string SimNode::condition() const {
  const auto node = object();
  for (const auto& condition : node["status"]["conditions"].items()) {
    if (condition["type"].string_or("") == api::kNodeCondition)
      return condition["status"].string_or("");
  }
  return {};
}

// ---- Cluster

Cluster::Cluster(Options options) : node_objects_(std::move(options.node_objects)) {
  static int number = 0;
  ns_ = "nobs-" + std::to_string(++number);
  directory_ = scratch_directory(ns_);
  auto& api = shared_backend();
  admin_ = std::make_unique<kube::Client>(api.config("admin"), "kubectl-admin", clock());
  alice_ = std::make_unique<kube::Client>(api.config("alice"), "kubectl-alice", clock());
  proxy_ = std::make_unique<FaultProxy>(api.config("admin"), directory_);
  clean();
  const auto space = json::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object({{"name", ns_}})}});
  (void)admin_->create(kNamespaces, "", space, {});
  const auto spec = config::parse_yaml(options.policy);
  REQUIRE_MESSAGE(spec, (spec ? "" : spec.error().message));
  json::Value whole = json::object({{"recovery", json::object({{"quietTime", "1s"}})}});
  json::merge(whole, *spec);
  set_policy(whole);
  for (const auto& name : options.nodes) {
    create_node(name);
    auto node =
        std::make_unique<SimNode>(*this, name, sim::TreeOptions{.instance = options.instance});
    nodes_.emplace(name, std::move(node));
    if (options.start_agents) nodes_.at(name)->start_agent();
  }
  if (options.start_agents) {
    for (const auto& name : options.nodes) {
      REQUIRE_MESSAGE(eventually([&] { return node(name).all_healthy(); }),
                      node(name).agent().output());
    }
  }
}

Cluster::~Cluster() {
  for (auto& [name, node] : nodes_) node->kill_agent();
  for (auto& [name, process] : operators_) process->kill();
  proxy_.reset();
  clean();
}

Backend& Cluster::backend() { return shared_backend(); }

// One API serves all scenarios of a program; what another left must not be seen.
void Cluster::clean() {
  for (const auto* type : {&api::kNodes, &api::kNeuronDevices, &api::kPolicies}) {
    auto objects = admin_->list_all(*type, "", {}, {});
    if (!objects) continue;
    for (const auto& object : *objects)
      (void)admin_->remove(*type, "", object["metadata"]["name"].string_or(""), "", {});
  }
  auto events = admin_->list_all(api::kEvents, "default", {}, {});
  if (!events) return;
  for (const auto& event : *events) {
    (void)admin_->remove(api::kEvents, "default", event["metadata"]["name"].string_or(""), "", {});
  }
}

void Cluster::set_policy(const json::Value& spec) {
  const std::string name(api::kDefaultPolicy);
  json::Value object = json::object({{"apiVersion", api::kGroupVersion},
                                     {"kind", api::kPolicies.kind},
                                     {"metadata", json::object({{"name", name}})},
                                     {"spec", spec}});
  auto created = admin_->create(api::kPolicies, "", object, {});
  if (!created && created.error().is_exists()) {
    created =
        admin_->patch(api::kPolicies, "", name,
                      {.kind = kube::PatchKind::Merge, .body = json::object({{"spec", spec}})}, {});
  }
  REQUIRE_MESSAGE(created, created.error().message);
}

void Cluster::create_node(const std::string& name) {
  const auto given = node_objects_.find(name);
  auto created = admin_->create(api::kNodes, "",
                                given == node_objects_.end() ? bare_node(name) : given->second, {});
  REQUIRE_MESSAGE(created, created.error().message);
  // A real server taints new Nodes not-ready; a kubelet would take that off.
  auto ready = admin_->patch(
      api::kNodes, "", name,
      {.kind = kube::PatchKind::Json,
       .body = json::array({json::object({{"op", "test"},
                                          {"path", "/spec/taints/0/key"},
                                          {"value", "node.kubernetes.io/not-ready"}}),
                            json::object({{"op", "remove"}, {"path", "/spec/taints/0"}})})},
      {});
  (void)ready;
}

void Cluster::delete_node(const std::string& name) {
  auto removed = admin_->remove(api::kNodes, "", name, "", {});
  REQUIRE_MESSAGE(removed, removed.error().message);
}

void Cluster::patch_node(kube::Client& who, const std::string& name, const json::Value& patch) {
  auto patched =
      who.patch(api::kNodes, "", name, {.kind = kube::PatchKind::Merge, .body = patch}, {});
  REQUIRE_MESSAGE(patched, patched.error().message);
}

void Cluster::set_unschedulable(kube::Client& who, const std::string& name, bool value) {
  patch_node(who, name,
             json::object({{"spec", json::object({{"unschedulable",
                                                   value ? json::Value(true) : json::Value()}})}}));
}

Process& Cluster::start_operator(const std::string& identity, std::vector<std::string> more_flags) {
  std::vector<std::string> command = {program("neuron-observer-operator"),
                                      "--kubeconfig=" + proxy_->kubeconfig(),
                                      "--namespace=" + ns_,
                                      "--identity=" + identity,
                                      "--leader.lease_duration=2s",
                                      "--leader.renew_deadline=1500ms",
                                      "--leader.retry_period=200ms",
                                      "--listen.address=127.0.0.1",
                                      "--listen.metrics_port=0",
                                      "--listen.probe_port=0",
                                      "--log.level=debug"};
  command.insert(command.end(), more_flags.begin(), more_flags.end());
  operators_[identity] = std::make_unique<Process>(command, directory_ + "/" + identity + ".log");
  return *operators_[identity];
}

std::vector<std::string> Cluster::event_reasons(const std::string& node) {
  std::vector<std::string> reasons;
  auto events = admin_->list_all(api::kEvents, "default", {}, {});
  if (!events) return reasons;
  for (const auto& event : *events) {
    if (event["regarding"]["name"].string_or("") == node)
      reasons.push_back(event["reason"].string_or(""));
  }
  return reasons;
}

bool Cluster::eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

bool Cluster::always(const std::function<bool()>& condition, std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  do {
    if (!condition()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < end);
  return true;
}

}  // namespace nobs::test
