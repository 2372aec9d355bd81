// What people do to a node during our quarantine, and that it stands.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;

namespace {

bool has_event(Cluster& cluster, const std::string& node, const std::string& reason) {
  const auto reasons = cluster.event_reasons(node);
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

json::Value annotation(std::string_view key, json::Value value) {
  return json::object(
      {{"metadata",
        json::object({{"annotations", json::object({{std::string(key), std::move(value)}})}})}});
}

}  // namespace

TEST_CASE("a node that a person had cordoned before us stays cordoned after recovery") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.cordon(cluster.alice(), "a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(node.note()->prior_unschedulable);
  CHECK_FALSE(node.note()->cordoned);

  node.driver().replace_device(0);

  REQUIRE(cluster.eventually([&] { return !node.has_our_taint(); }));
  CHECK(cluster.always([&] { return node.is_unschedulable(); }, std::chrono::seconds(1)));
}

TEST_CASE("a hold during our quarantine keeps the node out after recovery, and says so") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));

  cluster.patch_node(cluster.alice(), "a",
                     annotation(api::kHoldAnnotation, "alice looks at the fans"));
  node.driver().replace_device(0);

  REQUIRE(cluster.eventually([&] { return !node.has_our_taint(); }));
  CHECK(cluster.always([&] { return node.is_unschedulable(); }, std::chrono::seconds(1)));
  CHECK(node.node().hold == "alice looks at the fans");
  CHECK(cluster.eventually([&] { return has_event(cluster, "a", "QuarantineLifted"); }));
}

TEST_CASE("a cordon that a person renewed during our quarantine is theirs") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  auto& op = cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  // While no operator looks, as between two of its watches.
  op.kill();
  cluster.uncordon(cluster.alice(), "a");
  cluster.cordon(cluster.alice(), "a");
  node.driver().replace_device(0);
  cluster.start_operator("operator-2");

  REQUIRE(cluster.eventually([&] { return !node.has_our_taint(); }));
  CHECK(cluster.always([&] { return node.is_unschedulable(); }, std::chrono::seconds(1)));
}

TEST_CASE("an uncordon by hand is an override for that fault, not for the next") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  const auto generation = node.note()->generation;

  cluster.uncordon(cluster.alice(), "a");

  REQUIRE(cluster.eventually([&] { return !node.has_our_taint(); }));
  CHECK(node.note()->overridden_generation == generation);
  CHECK(cluster.eventually([&] { return has_event(cluster, "a", "QuarantineOverridden"); }));
  CHECK(cluster.always([&] { return !node.is_unschedulable() && !node.has_our_taint(); },
                       std::chrono::seconds(2)));

  node.driver().dma_abort(0);

  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(node.note()->generation > generation);
}

TEST_CASE("a dry run changes no node and says what it would have done") {
  Cluster cluster({.policy = "{mode: DryRun}"});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);

  REQUIRE(cluster.eventually([&] { return has_event(cluster, "a", "WouldQuarantine"); }));
  CHECK_FALSE(node.has_our_taint());
  CHECK_FALSE(node.is_unschedulable());
  CHECK_FALSE(node.note().has_value());
  CHECK(cluster.eventually([&] {
    const auto policy = cluster.admin().get(api::kPolicies, "", "default", {});
    return policy && (*policy)["status"]["wouldQuarantine"] == json::array({"a"});
  }));

  cluster.set_policy(json::object({{"mode", "Enforce"}}));

  CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
}

TEST_CASE("a paused policy touches nothing, neither to quarantine nor to give back") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  cluster.set_policy(json::object({{"mode", "Paused"}}));
  node.driver().replace_device(0);
  REQUIRE(cluster.eventually([&] { return node.all_healthy(); }));
  CHECK(cluster.always([&] { return node.is_quarantined(); }, std::chrono::seconds(3)));

  cluster.set_policy(json::object({{"mode", "Enforce"}}));

  CHECK(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
}

TEST_CASE("a node labelled ignore is left alone, and given back when the label comes later") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));

  cluster.patch_node(
      cluster.alice(), "a",
      json::object({{"metadata",
                     json::object({{"labels",
                                    json::object({{std::string(api::kIgnoreLabel), "true"}})}})}}));

  REQUIRE(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
  CHECK(cluster.always([&] { return !node.has_our_taint(); }, std::chrono::seconds(1)));
}

TEST_CASE("an acknowledged fault is over, also after a restart of the agent") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  // A component that the firmware still lists would be a new fault right after the acknowledgement.
  node.driver().clear_components(0);
  const auto device = node.device(0);

  auto patched = cluster.alice().patch(
      api::kNeuronDevices, "", device->name,
      {.kind = kube::PatchKind::Merge,
       .body = annotation(api::kAcknowledgeAnnotation, std::to_string(device->generation))},
      {});
  REQUIRE(patched);

  REQUIRE(cluster.eventually([&] { return node.all_healthy() && !node.has_our_taint(); }));
  node.kill_agent();
  node.start_agent();
  CHECK(cluster.always([&] { return !node.has_our_taint() && node.all_healthy(); },
                       std::chrono::seconds(2)));
}

TEST_CASE("what others put on a node is the same, byte for byte, after quarantine and recovery") {
  const auto taint = [](const char* key) {
    return json::object({{"key", key}, {"value", "x"}, {"effect", "NoSchedule"}});
  };
  json::Value object = json::object({
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata",
       json::object({{"name", "a"},
                     {"labels", json::object({{"team", "maps"}, {"aws.amazon.com/x", "1"}})},
                     {"annotations", json::object({{"example.com/note", "{\"a\": [1, 2]}"}})}})},
      {"spec", json::object({{"taints",
                              json::array({taint("aws.amazon.com/neuron"), taint("team/maps")})}})},
  });
  Cluster cluster({.node_objects = {{"a", object}}});
  auto& node = cluster.node("a");
  auto condition = json::object({{"type", "Foreign"},
                                 {"status", "True"},
                                 {"reason", "Seen"},
                                 {"message", "äöü"},
                                 {"lastHeartbeatTime", "2026-01-01T00:00:00Z"},
                                 {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  REQUIRE(cluster.admin().patch(
      api::kNodes, "", "a",
      {.kind = kube::PatchKind::Strategic,
       .body = json::object({{"status", json::object({{"conditions", json::array({condition})}})}}),
       .subresource = "status"},
      {}));
  const auto foreign = [&] {
    auto now = node.object();
    json::Value rest = json::object({{"labels", now["metadata"]["labels"]}});
    json::Value annotations = now["metadata"]["annotations"];
    annotations.erase(api::kQuarantineAnnotation);
    rest["annotations"] = annotations;
    json::Array taints;
    for (const auto& one : std::as_const(now)["spec"]["taints"].items()) {
      if (one["key"].string_or("") != api::kTaintKey) taints.push_back(one);
    }
    rest["taints"] = taints;
    json::Array conditions;
    for (const auto& one : std::as_const(now)["status"]["conditions"].items()) {
      if (one["type"].string_or("") != api::kNodeCondition) conditions.push_back(one);
    }
    rest["conditions"] = conditions;
    return json::dump(rest);
  };
  const std::string before = foreign();
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(foreign() == before);
  node.driver().replace_device(0);
  REQUIRE(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
  CHECK(foreign() == before);
}
