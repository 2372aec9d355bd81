#include "operator/decide/plan.h"

#include <doctest/doctest.h>

#include <limits>

#include "view.h"

namespace nobs::decide {
namespace {

using namespace std::chrono_literals;
using test::act;
using test::break_device;
using test::healthy_view;
using test::kNow;
using test::node_object;
using test::Quarantined;
using test::repair_device;

// What is planned for a node whose device 1 is broken, after `change`.
template <typename Change>
Decision broken(const Change& change) {
  NodeView view = healthy_view();
  break_device(view, 1, 1);
  change(view);
  return plan(view, kNow);
}

}  // namespace

TEST_CASE("a verified fatal fault quarantines its node, and says everything about it") {
  const auto decision = broken([](NodeView&) {});
  CHECK(decision.act == Act::Quarantine);
  CHECK_FALSE(decision.dry_run);
  CHECK(decision.reason == "HBMUncorrectable");
  CHECK(decision.effect == "NoSchedule");
  const auto& note = decision.note;
  CHECK(note.owner == api::kOperator);
  CHECK(note.node_uid == "uid-a");
  CHECK(note.since == kNow);
  CHECK(note.generation == 1);
  CHECK(note.devices == std::vector<int>{1});
  CHECK(note.reason == "HBMUncorrectable");
  CHECK(note.cordoned);
  CHECK_FALSE(note.prior_unschedulable);
  CHECK(note.policy == "default");
  CHECK(note.traceparent == "trace-1");
  CHECK(note.active);
  CHECK(note.repeats == 0);
}

TEST_CASE("several faults make one quarantine, for the newest generation") {
  const auto decision = broken([](NodeView& view) {
    break_device(view, 0, 2);
    view.devices[0].faults[0].fault = api::FaultClass::DMAAbort;
  });
  CHECK(decision.note.generation == 2);
  CHECK(decision.note.devices == std::vector<int>{0, 1});
  CHECK(decision.note.reason == "DMAAbort");
  CHECK(decision.note.traceparent == "trace-2");
}

TEST_CASE("nothing but a verified fatal fault of this very node quarantines") {
  const auto device = [](NodeView& view) -> api::NeuronDevice& { return view.devices[1]; };
  CHECK(plan(healthy_view(), kNow).reason == "NoFault");
  CHECK(broken([&](NodeView& v) { device(v).faults[0].verified = false; }).reason == "NoFault");
  CHECK(broken([&](NodeView& v) {
          device(v).faults[0].severity = api::Severity::Warning;
        }).reason == "NoFault");
  CHECK(broken([&](NodeView& v) { std::swap(device(v).faults, device(v).warnings); }).reason ==
        "NoFault");
  CHECK(broken([&](NodeView& v) { device(v).node_uid = "uid-b"; }).reason == "NoFault");
  CHECK(broken([&](NodeView& v) { device(v).node_uid.clear(); }).reason == "NoFault");
  CHECK(broken([&](NodeView& v) { device(v).health = api::Health::Unknown; }).reason == "NoFault");
  CHECK(broken([&](NodeView& v) { device(v).health = api::Health::Healthy; }).reason == "NoFault");
}

TEST_CASE("a fault counts only while the agent of this very node is alive") {
  CHECK(broken([](NodeView& v) { v.heartbeat.reset(); }).reason == "AgentSilent");
  CHECK(broken([](NodeView& v) { v.heartbeat->node_uid = "uid-b"; }).reason == "AgentSilent");
  CHECK(broken([](NodeView& v) { v.heartbeat->renewed = kNow - 121s; }).reason == "AgentSilent");
  CHECK(broken([](NodeView& v) { v.heartbeat->renewed = kNow - 120s; }).act == Act::Quarantine);
}

TEST_CASE("a node that nobody asked us to care for is left alone, and so is one that goes away") {
  CHECK(broken([](NodeView& v) { v.policy.reset(); }).reason == "NoPolicy");
  CHECK(broken([](NodeView& v) { v.policy->mode = api::Mode::Paused; }).reason == "Paused");
  CHECK(broken([](NodeView& v) { v.node.ignored = true; }).reason == "Ignored");
  CHECK(broken([](NodeView& v) { v.node.deleting = true; }).reason == "NodeDeleting");
}

TEST_CASE("the budget stops a quarantine with its own reason; a dry run does not use it") {
  const auto stopped = broken([](NodeView& view) {
    view.budget_allows = false;
    view.budget_reason = "StormBreaker";
  });
  CHECK(stopped.act == Act::Nothing);
  CHECK(stopped.reason == "StormBreaker");
  CHECK(broken([](NodeView& v) { v.budget_allows = false; }).reason == "BudgetUnavailable");
  const auto dry = broken([](NodeView& view) {
    view.budget_allows = false;
    view.policy->mode = api::Mode::DryRun;
  });
  CHECK(dry.act == Act::Quarantine);
  CHECK(dry.dry_run);
}

TEST_CASE("a policy may taint without a cordon, and with another effect") {
  NodeView view = healthy_view();
  break_device(view, 1, 1);
  view.policy->cordon = false;
  view.policy->effect = "PreferNoSchedule";
  json::Value node = node_object();
  CHECK(act(node, view, kNow).effect == "PreferNoSchedule");
  CHECK_FALSE(view.node.unschedulable);
  CHECK(plan(view, kNow).reason == "Quarantined");  // and that is no override
  node["spec"]["unschedulable"] = true;             // somebody else's
  repair_device(view, 1, kNow);
  const auto decision = act(node, view, kNow + 1h);
  CHECK(decision.act == Act::Release);
  CHECK_FALSE(decision.uncordon);
  CHECK(view.node.unschedulable);
}

TEST_CASE("a node is given back after the quiet time, not a second sooner") {
  Quarantined it;
  CHECK(it.at(kNow + 1h).reason == "Quarantined");
  repair_device(it.view, 1, kNow + 1h);
  const auto waiting = it.at(kNow + 1h + 599s);
  CHECK(waiting.reason == "QuietTime");
  CHECK(waiting.again_at == kNow + 1h + 10min);
  const auto decision = it.at(kNow + 1h + 10min);
  CHECK(decision.act == Act::Release);
  CHECK(decision.uncordon);
  CHECK(decision.note.lifted == kNow + 1h + 10min);
  CHECK_FALSE(it.view.node.unschedulable);
  CHECK_FALSE(has_own_taint(it.view.node));
  CHECK(it.at(kNow + 2h).reason == "NoFault");
}

TEST_CASE("the quiet time begins with the quarantine when the device says it was healthy before") {
  Quarantined it;
  repair_device(it.view, 1, kNow - 5h);
  CHECK(it.at(kNow + 9min).reason == "QuietTime");
  CHECK(it.at(kNow + 10min).act == Act::Release);
}

TEST_CASE("recovery needs every device of the quarantine reported healthy by a live agent") {
  Quarantined it;
  repair_device(it.view, 1, kNow);
  const auto later = kNow + 1h;
  it.view.heartbeat->renewed = later;
  const auto reason = [&](auto&& change) {
    NodeView view = it.view;
    change(view);
    return plan(view, later).reason;
  };
  REQUIRE(reason([](NodeView&) {}) == "Recovered");
  CHECK(reason([](NodeView& v) { v.devices.pop_back(); }) == "NotRecovered");
  CHECK(reason([](NodeView& v) { v.devices[1].health = api::Health::Unknown; }) == "NotRecovered");
  CHECK(reason([](NodeView& v) { v.devices[1].has_status = false; }) == "NotRecovered");
  CHECK(reason([](NodeView& v) { v.devices[1].node_uid = "uid-b"; }) == "NotRecovered");
  CHECK(reason([](NodeView& v) { v.devices[0].health = api::Health::Unhealthy; }) ==
        "NotRecovered");
  CHECK(reason([](NodeView& v) { v.devices[0].health = api::Health::Unknown; }) == "Recovered");
  CHECK(reason([&](NodeView& v) { v.heartbeat->renewed = later - 121s; }) == "AgentSilent");
  CHECK(reason([](NodeView& v) { v.heartbeat->node_uid = "uid-b"; }) == "AgentSilent");
  CHECK(reason([](NodeView& v) { v.heartbeat.reset(); }) == "AgentSilent");
  CHECK(reason([](NodeView& v) { v.policy->mode = api::Mode::Paused; }) == "Paused");
  // Neither bounds recovery.
  CHECK(reason([](NodeView& v) { v.budget_allows = false; }) == "Recovered");
  CHECK(reason([](NodeView& v) { v.policy->mode = api::Mode::DryRun; }) == "Recovered");
}

TEST_CASE("a paused policy writes nothing at all, not even that a person took the node back") {
  Quarantined it;
  it.view.policy->mode = api::Mode::Paused;
  it.node["spec"].erase("unschedulable");
  CHECK(it.at(kNow).act == Act::Nothing);
  it.node["metadata"]["labels"][api::kIgnoreLabel] = "true";
  CHECK(it.at(kNow).act == Act::Nothing);
  it.view.policy->mode = api::Mode::Enforce;
  it.node["metadata"]["labels"].erase(api::kIgnoreLabel);
  CHECK(it.at(kNow).act == Act::Override);
}

TEST_CASE("a policy that was deleted leaves no node in quarantine for ever") {
  Quarantined it;
  it.view.policy.reset();
  CHECK(it.at(kNow + 1h).reason == "Quarantined");
  repair_device(it.view, 1, kNow + 1h);
  CHECK(it.at(kNow + 69min).reason == "QuietTime");
  CHECK(it.at(kNow + 70min).act == Act::Release);
}

TEST_CASE("each repeat multiplies the quiet time, up to its maximum") {
  const auto policy = test::enforce();
  CHECK(quiet_time(policy, 0) == 10min);
  CHECK(quiet_time(policy, 1) == 20min);
  CHECK(quiet_time(policy, 3) == 80min);
  CHECK(quiet_time(policy, 8) == 24h);
  CHECK(quiet_time(policy, std::numeric_limits<std::int64_t>::max()) == 24h);
  CHECK(quiet_time(policy, -1) == 10min);
}

TEST_CASE("a quiet time neither overflows nor takes for ever to compute, whatever was written") {
  auto policy = test::enforce();
  policy.repeat_multiplier = 100;
  policy.quiet_time = 24h * 365;
  policy.max_quiet_time = 24h * 3650;
  CHECK(quiet_time(policy, 5) == 24h * 3650);
  policy.repeat_multiplier = 1;
  CHECK(quiet_time(policy, std::numeric_limits<std::int64_t>::max()) == 24h * 365);
  policy.max_quiet_time = 1h;  // below the quiet time itself
  CHECK(quiet_time(policy, 5) == 24h * 365);
}

TEST_CASE("a node that fails again stays out for longer, and remembers it") {
  Quarantined it;
  repair_device(it.view, 1, kNow);
  REQUIRE(it.at(kNow + 10min).act == Act::Release);
  break_device(it.view, 1, 2, kNow + 20min);
  const auto again = it.at(kNow + 20min);
  REQUIRE(again.act == Act::Quarantine);
  CHECK(again.note.repeats == 1);
  repair_device(it.view, 1, kNow + 20min);
  CHECK(it.at(kNow + 39min).reason == "QuietTime");
  CHECK(it.at(kNow + 40min).act == Act::Release);
}

TEST_CASE("a newer fault during the quarantine is noted, and its device must recover too") {
  Quarantined it;
  repair_device(it.view, 1, kNow + 1min);
  break_device(it.view, 0, 2, kNow + 1min);
  const auto update = it.at(kNow + 1min);
  REQUIRE(update.act == Act::Update);
  CHECK(update.note.generation == 2);
  CHECK(update.note.devices == std::vector<int>{0, 1});
  CHECK(update.note.since == kNow);
  CHECK(it.at(kNow + 2min).reason == "Quarantined");  // once
  repair_device(it.view, 0, kNow + 2min);
  it.view.devices[1].health = api::Health::Unknown;
  CHECK(it.at(kNow + 1h).reason == "NotRecovered");
}

TEST_CASE("only an enforcing policy and a live agent change a quarantine") {
  Quarantined it;
  break_device(it.view, 0, 2);
  it.view.policy->mode = api::Mode::DryRun;
  CHECK(it.at(kNow + 1min).act == Act::Nothing);
  it.view.policy->mode = api::Mode::Enforce;
  CHECK(plan(it.view, kNow + 1h).act == Act::Nothing);  // the heartbeat is old by then
  CHECK(it.at(kNow + 1min).act == Act::Update);
}

TEST_CASE("a person's uncordon is an override for that generation, not for the next") {
  Quarantined it;
  it.node["spec"].erase("unschedulable");
  const auto override_it = it.at(kNow + 1min);
  REQUIRE(override_it.act == Act::Override);
  CHECK(override_it.note.overridden_generation == 1);
  CHECK_FALSE(override_it.note.active);
  CHECK_FALSE(has_own_taint(it.view.node));
  CHECK(it.at(kNow + 2min).reason == "Overridden");
  CHECK(it.at(kNow + 48h).reason == "Overridden");
  break_device(it.view, 0, 2, kNow + 49h);
  CHECK(it.at(kNow + 49h).act == Act::Quarantine);
  // The new quarantine still knows what was overridden before it.
  CHECK(own_quarantine(it.view.node)->overridden_generation == 1);
}

TEST_CASE("an override covers no fault of a new installation that counts generations from one") {
  Quarantined it;
  it.node["spec"].erase("unschedulable");
  REQUIRE(it.at(kNow + 1min).act == Act::Override);
  break_device(it.view, 0, 1, kNow + 10min);
  it.view.devices[1] = test::healthy_device(1);
  CHECK(it.at(kNow + 10min).act == Act::Quarantine);
}

TEST_CASE("clocks that differ by seconds do not undo an override") {
  Quarantined it;
  it.node["spec"].erase("unschedulable");
  REQUIRE(it.at(kNow + 1min).act == Act::Override);
  it.view.devices[1].faults[0].first_seen = kNow + 1min + 30s;
  CHECK(it.at(kNow + 2min).reason == "Overridden");
}

TEST_CASE("a taint removed by hand is an override too, and gives back the cordon that was ours") {
  Quarantined it;
  it.node["spec"]["taints"] = node_object()["spec"]["taints"];
  const auto decision = it.at(kNow + 1min);
  CHECK(decision.act == Act::Override);
  CHECK(decision.uncordon);
  CHECK_FALSE(it.view.node.unschedulable);
  CHECK(it.at(kNow + 2min).reason == "Overridden");
}

TEST_CASE("a node cordoned before us stays cordoned; a person's uncordon of it is an override") {
  json::Value before = node_object();
  before["spec"]["unschedulable"] = true;
  Quarantined recovers(before);
  CHECK_FALSE(own_quarantine(recovers.view.node)->cordoned);
  repair_device(recovers.view, 1, kNow);
  const auto released = recovers.at(kNow + 1h);
  CHECK(released.act == Act::Release);
  CHECK_FALSE(released.uncordon);
  CHECK(released.message.find("cordoned before us") != std::string::npos);
  CHECK(recovers.view.node.unschedulable);

  Quarantined overridden(before);
  overridden.node["spec"].erase("unschedulable");
  CHECK(overridden.at(kNow + 1min).act == Act::Override);
}

TEST_CASE("a hold keeps the node out after recovery, whenever it was set") {
  for (const bool before : {true, false}) {
    json::Value node = node_object();
    if (before) node["metadata"]["annotations"][api::kHoldAnnotation] = "alice: RMA";
    Quarantined it(node);
    if (!before) it.node["metadata"]["annotations"][api::kHoldAnnotation] = "";
    repair_device(it.view, 1, kNow);
    const auto decision = it.at(kNow + 1h);
    CHECK(decision.act == Act::Release);
    CHECK_FALSE(decision.uncordon);
    CHECK(decision.message.find(api::kHoldAnnotation) != std::string::npos);
    CHECK(it.view.node.unschedulable);
    CHECK_FALSE(has_own_taint(it.view.node));
  }
}

TEST_CASE("another manager of spec.unschedulable keeps the node out, ours or none does not") {
  const std::vector<std::pair<json::Value, bool>> rows = {
      {test::cordoned_by({}), true},
      {test::cordoned_by({api::kOperator}), true},
      {test::cordoned_by({"kubectl-cordon"}), false},
      // Somebody applied what we set: both own it, in either order.
      {test::cordoned_by({"argocd", api::kOperator}), false},
      {test::cordoned_by({api::kOperator, "argocd"}), false},
  };
  for (const auto& [fields, uncordon] : rows) {
    Quarantined it;
    it.node["metadata"]["managedFields"] = fields;
    repair_device(it.view, 1, kNow);
    const auto decision = it.at(kNow + 1h);
    CHECK(decision.act == Act::Release);
    CHECK(decision.uncordon == uncordon);
    CHECK(it.view.node.unschedulable != uncordon);
  }
}

TEST_CASE("the opt-out label gives back at once what is ours, and nothing of others") {
  Quarantined it;
  it.node["metadata"]["labels"][api::kIgnoreLabel] = "true";
  const auto decision = it.at(kNow + 1min);
  CHECK(decision.act == Act::Release);
  CHECK(decision.reason == "Ignored");
  CHECK_FALSE(it.view.node.unschedulable);
  CHECK(it.at(kNow + 2min).reason == "Ignored");
  it.node["metadata"]["labels"].erase(api::kIgnoreLabel);
  CHECK(it.at(kNow + 3min).act == Act::Quarantine);
}

TEST_CASE("our taint without a valid annotation proves nothing, so nothing is touched") {
  Quarantined it;
  repair_device(it.view, 1, kNow);
  auto quarantine = *own_quarantine(it.view.node);
  const auto plan_with = [&](const json::Value& annotation) {
    json::Value node = it.node;
    node["metadata"]["annotations"][api::kQuarantineAnnotation] = annotation;
    if (annotation.is_null()) node["metadata"]["annotations"].erase(api::kQuarantineAnnotation);
    it.view.node = *api::parse_node(node);
    it.view.heartbeat->renewed = kNow + 1h;
    return plan(it.view, kNow + 1h);
  };
  REQUIRE(plan_with(api::dump_quarantine(quarantine)).act == Act::Release);
  for (const json::Value& text : {json::Value(), json::Value(""), json::Value("{"),
                                  json::Value("[]"), json::Value(R"({"owner":"us"})")}) {
    CHECK(plan_with(text).reason == "OwnershipUnproven");
    CHECK(plan_with(text).act == Act::Nothing);
  }
  const auto edited = [&](auto&& change) {
    auto other = quarantine;
    change(other);
    return plan_with(api::dump_quarantine(other)).reason;
  };
  CHECK(edited([](auto& q) { q.node_uid = "uid-b"; }) == "OwnershipUnproven");
  CHECK(edited([](auto& q) { q.owner = "karpenter"; }) == "OwnershipUnproven");
  CHECK(edited([](auto& q) { q.active = false; }) == "OwnershipUnproven");
  CHECK(edited([](auto& q) { q.devices.clear(); }) == "OwnershipUnproven");
  CHECK(edited([](auto& q) { q.devices = {-1}; }) == "OwnershipUnproven");
}

TEST_CASE("a note that says both, cordoned before us and by us, gives nothing back") {
  Quarantined it;
  auto note = *own_quarantine(it.view.node);
  note.prior_unschedulable = true;
  it.node["metadata"]["annotations"][api::kQuarantineAnnotation] = api::dump_quarantine(note);
  repair_device(it.view, 1, kNow);
  CHECK(it.at(kNow + 1h).act == Act::Release);
  CHECK(it.view.node.unschedulable);
}

TEST_CASE("an annotation of an earlier node of the same name neither proves nor overrides") {
  NodeView view = healthy_view();
  break_device(view, 1, 1);
  api::Quarantine past;
  past.owner = api::kOperator;
  past.node_uid = "uid-before";
  past.since = past.lifted = kNow;
  past.devices = {1};
  past.active = false;
  past.overridden_generation = 9;
  past.repeats = 4;
  view.node.quarantine_text = api::dump_quarantine(past);
  const auto decision = plan(view, kNow);
  CHECK(decision.act == Act::Quarantine);
  CHECK(decision.note.repeats == 0);
  CHECK(decision.note.overridden_generation == 0);
}

TEST_CASE("we look again when the heartbeat ends, and not for ever after it has") {
  Quarantined it;
  const auto decision = plan(it.view, kNow + 10s);
  CHECK(decision.again_at == kNow + 121s);
  CHECK_FALSE(plan(it.view, kNow + 121s).again_at);
  CHECK_FALSE(plan(it.view, kNow + 48h).again_at);
}

}  // namespace nobs::decide
