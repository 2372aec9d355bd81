// The main job: a bad device takes its node out of service, and gives it back.
#include <doctest/doctest.h>

#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;

TEST_CASE("an unrepairable HBM error takes the node out of service") {
  Cluster cluster({.nodes = {"a", "b"}});
  cluster.start_operator();
  cluster.node("a").driver().hbm_uncorrectable(0);

  REQUIRE(cluster.eventually([&] { return cluster.node("a").is_quarantined(); }));
  const auto device = cluster.node("a").device(0);
  REQUIRE(device);
  CHECK(device->health == api::Health::Unhealthy);
  CHECK(device->reason == "HBMUncorrectable");
  CHECK(device->action == api::Action::ReplaceNode);
  REQUIRE(device->faults.size() == 1);
  CHECK(device->faults[0].verified);
  const auto note = cluster.node("a").note();
  REQUIRE(note);
  CHECK(note->active);
  CHECK(note->devices == std::vector<int>{0});
  CHECK(note->generation == device->generation);
  CHECK(cluster.eventually([&] { return cluster.node("a").condition() == "False"; }));
  CHECK(cluster.node("b").condition() == "True");
  CHECK_FALSE(cluster.node("b").is_unschedulable());
  CHECK(cluster.eventually([&] {
    const auto reasons = cluster.event_reasons("a");
    return std::find(reasons.begin(), reasons.end(), "Quarantined") != reasons.end();
  }));
}

TEST_CASE("another part in the slot, and the quiet time, give the node back") {
  Cluster cluster({.nodes = {"a"}});
  cluster.start_operator();
  cluster.node("a").driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return cluster.node("a").is_quarantined(); }));
  const auto faulty = cluster.node("a").device(0)->serial;

  cluster.node("a").driver().replace_device(0);

  REQUIRE(cluster.eventually([&] { return !cluster.node("a").has_our_taint(); }));
  CHECK_FALSE(cluster.node("a").is_unschedulable());
  CHECK(cluster.node("a").node().taints.empty());
  const auto device = cluster.node("a").device(0);
  REQUIRE(device);
  CHECK(device->serial != faulty);
  CHECK(device->health == api::Health::Healthy);
  CHECK_FALSE(cluster.node("a").note()->active);
}
