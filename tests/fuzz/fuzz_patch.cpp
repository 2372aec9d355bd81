// Whatever stands in the annotation, the taints and managedFields of a Node: it is read, decided on and patched without
// harm, and no patch gives back a node that somebody holds. Input: annotation, taints, hold ("" none), one a line.
#include <vector>

#include "operator/decide/patch.h"
#include "shared/api/names.h"
#include "shared/base/strings.h"
#include "tests/fuzz/input.h"

namespace {

using namespace nobs;

api::NeuronDevice device_of(bool is_broken, WallTime when) {
  api::NeuronDevice device;
  device.node_uid = "u";
  device.index = 1;
  device.has_status = true;
  device.since = when;
  device.health = is_broken ? api::Health::Unhealthy : api::Health::Healthy;
  if (is_broken) {
    api::Fault fault;
    fault.fault = api::FaultClass::DMAAbort;
    fault.severity = api::Severity::Fatal;
    fault.verified = true;
    fault.generation = 7;
    device.faults = {fault};
  }
  return device;
}

void decide_about(const json::Value& object, bool is_broken, WallTime when) {
  auto node = api::parse_node(object);
  fuzz::require(static_cast<bool>(node), "a node with a name and a UID is read");
  decide::NodeView view;
  view.node = *node;
  view.devices = {device_of(is_broken, when)};
  view.heartbeat = api::Heartbeat{"l", "n", "u", when + std::chrono::hours(1000)};
  view.policy.emplace();
  view.policy->mode = api::Mode::Enforce;
  view.budget_allows = true;
  for (const auto now : {when, when + std::chrono::hours(1000)}) {
    const auto decision = plan(view, now);
    fuzz::require(!(decision.uncordon && node->hold), "what somebody holds is not given back");
    fuzz::require(!decision.uncordon || decide::own_quarantine(*node),
                  "only what the annotation proves is given back");
    const auto patch = build_patch(*node, decision);
    fuzz::require(patch.items().empty() == (decision.act == decide::Act::Nothing),
                  "an act has a patch, and nothing has none");
    fuzz::require(static_cast<bool>(json::parse(json::dump(patch))), "a patch is JSON");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const auto lines = split(fuzz::text_of(data, size), '\n');
  const auto line = [&](size_t index) { return index < lines.size() ? lines[index] : ""; };
  auto taints = json::parse(line(1));
  json::Value object = json::object({{"metadata", json::object({{"name", "n"}, {"uid", "u"}})},
                                     {"spec", json::object({{"unschedulable", true}})}});
  object["metadata"]["annotations"][api::kQuarantineAnnotation] = line(0);
  if (!line(2).empty()) object["metadata"]["annotations"][api::kHoldAnnotation] = line(2);
  if (taints) object["spec"]["taints"] = *taints;
  if (auto fields = json::parse(line(3))) object["metadata"]["managedFields"] = *fields;
  for (const bool is_broken : {false, true})
    decide_about(object, is_broken, WallTime(std::chrono::seconds(1'796'040'000)));
  return 0;
}
