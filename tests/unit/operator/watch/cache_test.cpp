#include "operator/watch/cache.h"

#include <doctest/doctest.h>

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

using namespace nobs;

namespace {

json::Value node(const std::string& name, const std::string& uid,
                 const std::string& version = "1") {
  return json::object(
      {{"metadata", json::object({{"name", name}, {"uid", uid}, {"resourceVersion", version}})},
       {"spec", json::Object{}}});
}

json::Value device(const std::string& node_name, int index) {
  return json::object(
      {{"metadata", json::object({{"name", api::device_name(node_name, index)}, {"uid", "d"}})},
       {"spec",
        json::object(
            {{"nodeName", node_name}, {"nodeUID", "u"}, {"index", index}, {"serialNumber", ""}})}});
}

struct Fixture {
  std::set<std::string> told;
  log::Logger logger{{.component = "test", .sink = [](std::string_view) {}}};
  watch::Cache cache{logger, [this](const std::string& name) { told.insert(name); }};
  runtime::ReflectorHandlers nodes = cache.node_handlers(), devices = cache.device_handlers(),
                             leases = cache.lease_handlers(), policies = cache.policy_handlers();

  void list_everything() {
    for (auto* handlers : {&nodes, &devices, &leases, &policies}) {
      handlers->begin_list();
      handlers->end_list();
    }
  }
};

}  // namespace

TEST_CASE(
    "no node is shown before everything was listed once: what is missing could be what decides") {
  Fixture f;
  f.nodes.begin_list();
  f.nodes.upsert(node("a", "u"));
  f.nodes.end_list();
  f.devices.begin_list();
  f.devices.upsert(device("a", 0));
  f.devices.end_list();
  f.leases.begin_list();
  f.leases.end_list();
  CHECK_FALSE(f.cache.view("a").has_value());
  f.policies.begin_list();
  f.policies.end_list();
  REQUIRE(f.cache.view("a").has_value());
  CHECK(f.cache.view("a")->devices.size() == 1);
}

TEST_CASE("what a complete new list does not name is gone, and its node is told") {
  Fixture f;
  f.list_everything();
  f.nodes.upsert(node("a", "u"));
  f.devices.upsert(device("a", 0));
  f.devices.upsert(device("a", 1));
  f.devices.begin_list();
  f.devices.upsert(device("a", 1));
  CHECK(f.cache.view("a")->devices.size() == 2);
  f.told.clear();
  f.devices.end_list();
  CHECK(f.cache.view("a")->devices.size() == 1);
  CHECK(f.told.contains("a"));
}

TEST_CASE("a heartbeat in time wakes nobody; one that came back does") {
  Fixture f;
  f.list_everything();
  const auto lease = [](const char* renewed) {
    return api::heartbeat_object("ns", "a", "u", *parse_rfc3339(renewed));
  };
  f.leases.upsert(lease("2026-11-30T12:00:00Z"));
  f.told.clear();
  f.leases.upsert(lease("2026-11-30T12:00:30Z"));
  CHECK(f.told.empty());
  f.leases.upsert(lease("2026-11-30T13:00:00Z"));
  CHECK(f.told.contains("a"));
}

TEST_CASE("an older event does not undo what a write was answered with") {
  Fixture f;
  f.list_everything();
  f.nodes.upsert(node("a", "u", "10"));
  f.cache.learn_node(node("a", "u", "12"));
  f.cache.learn_node(node("a", "u", "11"));
  CHECK(f.cache.view("a")->node.resource_version == "12");
}

TEST_CASE("where several policies select a node the most careful one counts") {
  Fixture f;
  f.list_everything();
  f.nodes.upsert(node("a", "u"));
  const auto policy = [](const char* name, const char* mode) {
    return json::object(
        {{"metadata", json::object({{"name", name}})}, {"spec", json::object({{"mode", mode}})}});
  };
  f.policies.upsert(policy("a-enforce", "Enforce"));
  f.policies.upsert(policy("b-dry", "DryRun"));
  CHECK(f.cache.view("a")->policy->name == "b-dry");
  f.policies.remove(policy("b-dry", "DryRun"));
  CHECK(f.cache.view("a")->policy->name == "a-enforce");
}

TEST_CASE("objects that cannot be read change nothing") {
  Fixture f;
  f.list_everything();
  f.nodes.upsert(json::Value("no object"));
  f.devices.upsert(json::object({{"metadata", json::object({{"name", "x"}})}}));
  f.leases.upsert(json::Array{});
  f.policies.upsert(json::object({{"spec", 3}}));
  CHECK(f.cache.neuron_nodes().empty());
}
