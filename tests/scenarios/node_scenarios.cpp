// Nodes and devices that come, go and come back as others.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;

TEST_CASE("a device that vanishes takes its node out of service until it is back") {
  Cluster cluster({.instance = "trn3e.24xlarge"});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().remove_device(2);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(node.device(2)->reason == "DeviceMissing");
  CHECK(node.device(2)->action == api::Action::RebootNode);
  CHECK(node.device(1)->health == api::Health::Healthy);

  node.driver().restore_device(2);

  CHECK(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
}

TEST_CASE("a repairable error is over when the driver was loaded anew and reads zero") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_repairable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(node.device(0)->reason == "HBMRepairable");
  CHECK(node.device(0)->action == api::Action::ReloadDriver);

  node.driver().reload_driver();

  CHECK(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
}

TEST_CASE(
    "a node that is deleted in quarantine is forgotten, and its place in the budget is free") {
  Cluster cluster({.nodes = {"a", "b"}});
  cluster.start_operator();
  cluster.node("a").driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return cluster.node("a").is_quarantined(); }));
  cluster.node("b").driver().hbm_uncorrectable(0);

  cluster.node("a").kill_agent();
  cluster.delete_node("a");

  CHECK(cluster.eventually([&] { return cluster.node("b").is_quarantined(); }));
  CHECK(cluster.operator_process().is_running());
}

TEST_CASE("a new node of the same name does not inherit the old one's faults") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  node.kill_agent();
  cluster.delete_node("a");

  cluster.create_node("a");

  // The old machine's objects are still there, and speak of another UID.
  REQUIRE(node.device(0)->health == api::Health::Unhealthy);
  CHECK(cluster.always([&] { return !node.has_our_taint() && !node.is_unschedulable(); },
                       std::chrono::seconds(2)));
  node.driver().replace_device(0);
  node.start_agent();
  REQUIRE(cluster.eventually([&] { return node.all_healthy(); }));
  CHECK(node.device(0)->node_uid == node.node().uid);
  CHECK_FALSE(node.has_our_taint());
}

TEST_CASE("an agent notices that its node was replaced under the same name") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  const auto old_uid = node.node().uid;
  cluster.delete_node("a");
  cluster.create_node("a");
  REQUIRE(node.node().uid != old_uid);
  CHECK(cluster.eventually([&] {
    const auto device = node.device(0);
    return device && device->node_uid == node.node().uid && device->health == api::Health::Healthy;
  }));
}

TEST_CASE("a device object that somebody deleted is published again") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  const auto generation = node.device(0)->generation;
  REQUIRE(cluster.admin().remove(api::kNeuronDevices, "", api::device_name("a", 0), "", {}));
  CHECK(cluster.eventually([&] {
    const auto device = node.device(0);
    return device && device->generation == generation && device->health == api::Health::Unhealthy;
  }));
  CHECK(node.is_quarantined());
}
