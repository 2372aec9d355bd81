#include "operator/decide/patch.h"

#include <doctest/doctest.h>

#include <random>

#include "view.h"

namespace nobs::decide {
namespace {

using namespace std::chrono_literals;
using test::act;
using test::apply_patch;
using test::break_device;
using test::healthy_view;
using test::kNow;
using test::node_object;
using test::Quarantined;
using test::repair_device;

int own_taints(const json::Value& node) {
  int count = 0;
  for (const auto& taint : node["spec"]["taints"].items())
    count += taint["key"].string_or("") == api::kTaintKey ? 1 : 0;
  return count;
}

// The object without anything that is ours.
std::string foreign(json::Value node) {
  json::Array taints;
  for (const auto& taint : std::as_const(node)["spec"]["taints"].items()) {
    if (taint["key"].string_or("") != api::kTaintKey) taints.push_back(taint);
  }
  node["spec"].erase("taints");
  if (!taints.empty()) node["spec"]["taints"] = json::Value(std::move(taints));
  node["spec"].erase("unschedulable");
  if (node["metadata"].contains("annotations")) {
    node["metadata"]["annotations"].erase(api::kQuarantineAnnotation);
    if (node["metadata"]["annotations"].members().empty()) node["metadata"].erase("annotations");
  }
  return json::dump(node);
}

json::Value bare_node() {
  return *json::parse(R"({"metadata":{"name":"a","uid":"uid-a"},"spec":{}})");
}

json::Value patch_of(const json::Value& node, int broken_device = 1) {
  NodeView view = healthy_view(node);
  break_device(view, broken_device, 1);
  return build_patch(view.node, plan(view, kNow));
}

}  // namespace

TEST_CASE("a quarantine is one patch: taint, cordon and annotation, and nothing of others") {
  for (const auto& before : {node_object(), bare_node()}) {
    json::Value node = before;
    NodeView view = healthy_view(node);
    break_device(view, 1, 1);
    act(node, view, kNow);
    CHECK(own_taints(node) == 1);
    CHECK(view.node.taints.back() ==
          api::Taint{std::string(api::kTaintKey), "HBMUncorrectable", "NoSchedule"});
    CHECK(view.node.unschedulable);
    REQUIRE(own_quarantine(view.node));
    CHECK(own_quarantine(view.node)->active);
    CHECK(foreign(node) == foreign(before));
  }
}

TEST_CASE("after quarantine and release the object is as it was, but for our annotation") {
  for (const auto& before : {node_object(), bare_node()}) {
    Quarantined it(before);
    repair_device(it.view, 1, kNow);
    REQUIRE(it.at(kNow + 1h).act == Act::Release);
    it.node["metadata"]["annotations"].erase(api::kQuarantineAnnotation);
    json::Value expected = before;
    if (!before["metadata"].contains("annotations")) it.node["metadata"].erase("annotations");
    CHECK(json::dump(it.node) == json::dump(expected));  // no empty list of taints either
  }
}

TEST_CASE("a patch fails as a whole when anything that was read has changed since") {
  const auto original = node_object();
  const auto patch = patch_of(original);
  const auto conflicts = [&](auto&& change) {
    json::Value node = original;
    change(node);
    const std::string changed = json::dump(node);
    const bool refused = !apply_patch(node, patch);
    CHECK(json::dump(node) == changed);
    return refused;
  };
  const json::Value taint = *json::parse(R"({"key":"x","effect":"NoExecute"})");
  CHECK(conflicts([](auto& n) { n["metadata"]["uid"] = "uid-b"; }));
  CHECK(conflicts([](auto& n) { n["spec"]["unschedulable"] = true; }));
  CHECK(conflicts([&](auto& n) { n["spec"]["taints"].push_back(taint); }));
  CHECK(conflicts([&](auto& n) { n["spec"]["taints"] = json::array({taint}); }));
  CHECK(conflicts([](auto& n) { n["spec"].erase("taints"); }));
  CHECK(conflicts([](auto& n) { n["metadata"]["annotations"][api::kQuarantineAnnotation] = "x"; }));
  CHECK(conflicts([](auto& n) { n["metadata"].erase("annotations"); }));

  const auto bare = patch_of(bare_node());
  json::Value annotated = bare_node();
  annotated["metadata"]["annotations"]["new"] = "x";
  CHECK_FALSE(apply_patch(annotated, bare));
  json::Value tainted = bare_node();
  tainted["spec"]["taints"] = json::array({taint});
  CHECK_FALSE(apply_patch(tainted, bare));
}

TEST_CASE("a patch that was applied cannot be applied again") {
  json::Value node = node_object();
  const auto patch = patch_of(node);
  CHECK(apply_patch(node, patch));
  CHECK_FALSE(apply_patch(node, patch));
}

TEST_CASE("a hold, an edit or a cordon between reading and release stops the uncordon") {
  Quarantined it;
  repair_device(it.view, 1, kNow);
  it.view.heartbeat->renewed = kNow + 1h;
  const auto decision = plan(it.view, kNow + 1h);
  REQUIRE(decision.uncordon);
  const auto patch = build_patch(it.view.node, decision);
  json::Value held = it.node;
  held["metadata"]["annotations"][api::kHoldAnnotation] = "";
  CHECK_FALSE(apply_patch(held, patch));
  json::Value uncordoned = it.node;
  uncordoned["spec"].erase("unschedulable");
  CHECK_FALSE(apply_patch(uncordoned, patch));
  json::Value edited = it.node;
  edited["metadata"]["annotations"][api::kQuarantineAnnotation] = "{}";
  CHECK_FALSE(apply_patch(edited, patch));
}

TEST_CASE("an update leaves exactly one taint of ours, with the new reason, and the cordon alone") {
  Quarantined it;
  break_device(it.view, 0, 2);
  it.view.devices[0].faults[0].fault = api::FaultClass::DMAAbort;
  it.node["spec"]["taints"].push_back(
      json::object({{"key", api::kTaintKey}, {"effect", "NoExecute"}}));  // set by hand
  const std::string before = foreign(it.node);
  REQUIRE(it.at(kNow + 1min).act == Act::Update);
  CHECK(own_taints(it.node) == 1);
  CHECK(it.view.node.taints.back().value == "DMAAbort");
  CHECK(it.view.node.unschedulable);
  CHECK(foreign(it.node) == before);
}

TEST_CASE("a release removes every taint of our key and keeps the others in their order") {
  Quarantined it;
  const auto other = [](const char* key) {
    return json::object({{"key", key}, {"effect", "NoExecute"}});
  };
  auto& taints = it.node["spec"]["taints"];
  taints =
      json::array({other("z"), taints.items()[1], other("a"),
                   json::object({{"key", api::kTaintKey}, {"effect", "NoExecute"}}), other("m")});
  repair_device(it.view, 1, kNow);
  REQUIRE(it.at(kNow + 1h).act == Act::Release);
  CHECK(it.node["spec"]["taints"] == json::array({other("z"), other("a"), other("m")}));
}

TEST_CASE("nothing to do and a dry run are empty patches") {
  NodeView view = healthy_view();
  CHECK(build_patch(view.node, plan(view, kNow)) == json::array({}));
  break_device(view, 1, 1);
  view.policy->mode = api::Mode::DryRun;
  const auto decision = plan(view, kNow);
  REQUIRE(decision.act == Act::Quarantine);
  CHECK(build_patch(view.node, decision) == json::array({}));
}

TEST_CASE(
    "whatever happens: others' things stay, one taint at most, and no cordon of others falls") {
  std::mt19937 random(20261130);
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  int quarantines = 0;
  int uncordons = 0;
  for (int round = 0; round < 120; ++round) {
    json::Value node = chance(50) ? node_object() : bare_node();
    NodeView view = healthy_view(node);
    view.policy->cordon = chance(80);
    bool foreign_cordon = chance(30);  // somebody but us wants the node out
    if (foreign_cordon) node["spec"]["unschedulable"] = true;
    std::int64_t generation = 0;
    WallTime now = kNow;
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::seconds(random() % 1200);
      if (chance(15)) break_device(view, static_cast<int>(random() % 2), ++generation, now);
      if (chance(30)) repair_device(view, static_cast<int>(random() % 2), now);
      if (chance(5)) view.devices[random() % 2].health = api::Health::Unknown;
      if (chance(5)) view.policy->mode = static_cast<api::Mode>(random() % 3);
      if (chance(5)) node["metadata"]["labels"][api::kIgnoreLabel] = chance(50) ? "true" : "false";
      if (chance(5)) {
        node["metadata"]["annotations"][api::kHoldAnnotation] = "x";
      } else if (chance(5) && node["metadata"].contains("annotations")) {
        node["metadata"]["annotations"].erase(api::kHoldAnnotation);
      }
      if (chance(5)) node["metadata"]["annotations"]["other"] = std::to_string(step);
      if (chance(3)) node["metadata"]["annotations"].erase(api::kQuarantineAnnotation);
      if (chance(5))
        node["spec"]["taints"].push_back(json::object({{"key", std::to_string(step)}}));
      if (chance(5)) {  // a person uncordons: nobody wants it out any more
        node["spec"].erase("unschedulable");
        node["metadata"].erase("managedFields");
        foreign_cordon = false;
      }
      const bool out = std::as_const(node)["spec"]["unschedulable"].bool_or(false);
      if (chance(5) && !out) {
        node["spec"]["unschedulable"] = true;
        node["metadata"]["managedFields"] = test::cordoned_by({"kubectl-cordon"});
        foreign_cordon = true;
      }
      const bool was_out = std::as_const(node)["spec"]["unschedulable"].bool_or(false);
      const bool held =
          std::as_const(node)["metadata"]["annotations"].contains(api::kHoldAnnotation);
      const std::string others = foreign(node);
      const auto decision = act(node, view, now);
      const bool is_out = std::as_const(node)["spec"]["unschedulable"].bool_or(false);
      REQUIRE(foreign(node) == others);
      REQUIRE(own_taints(node) <= 1);
      REQUIRE_FALSE((was_out && !is_out && (foreign_cordon || held)));
      REQUIRE_FALSE((is_out && !was_out && decision.act != Act::Quarantine));
      if (decision.act != Act::Nothing && !decision.dry_run)
        REQUIRE(plan(view, now).act != decision.act);  // done once
      quarantines += decision.act == Act::Quarantine && !decision.dry_run ? 1 : 0;
      uncordons += was_out && !is_out ? 1 : 0;
      if (is_out && !was_out)
        node["metadata"]["managedFields"] = test::cordoned_by({api::kOperator});
    }
  }
  CHECK(quarantines > 100);
  CHECK(uncordons > 15);
}

}  // namespace nobs::decide
