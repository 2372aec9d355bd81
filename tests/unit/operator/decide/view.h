// One node as the operator knows it, healthy and with a live agent; tests break it.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "json_patch.h"
#include "operator/decide/patch.h"
#include "operator/decide/plan.h"
#include "shared/api/names.h"

namespace nobs::decide::test {

using namespace std::chrono_literals;  // NOLINT: a header of tests only

inline constexpr WallTime kNow{std::chrono::seconds(1'796'040'000)};

// As a server gives it: others' taints, labels, annotations and conditions are there.
inline json::Value node_object() {
  return *json::parse(R"({"metadata":{"name":"a","uid":"uid-a","resourceVersion":"7",
    "labels":{"kubernetes.io/hostname":"a"},"annotations":{"example.com/keep":"{\"x\":1}"}},
    "spec":{"providerID":"aws:///i-1","taints":[{"key":"aws.amazon.com/neuron","effect":"NoSchedule"}]},
    "status":{"capacity":{"aws.amazon.com/neuron":"2"},"conditions":[{"type":"Ready","status":"True"}]}})");
}

inline api::NeuronDevice healthy_device(int index) {
  api::NeuronDevice device;
  device.name = api::device_name("a", index);
  device.node = "a";
  device.node_uid = "uid-a";
  device.index = index;
  device.has_status = true;
  device.health = api::Health::Healthy;
  device.since = device.reported = kNow - 24h;
  return device;
}

inline api::Policy enforce() {
  api::Policy policy;
  policy.name = "default";
  policy.mode = api::Mode::Enforce;
  return policy;
}

inline NodeView healthy_view(const json::Value& node = node_object()) {
  NodeView view;
  view.node = *api::parse_node(node);
  view.devices = {healthy_device(0), healthy_device(1)};
  view.heartbeat = api::Heartbeat{"neuron-observer-a", "a", "uid-a", kNow - 10s};
  view.policy = enforce();
  view.budget_allows = true;
  return view;
}

inline void break_device(NodeView& view, int index, std::int64_t generation, WallTime when = kNow) {
  auto& device = view.devices.at(static_cast<size_t>(index));
  api::Fault fault;
  fault.fault = api::FaultClass::HBMUncorrectable;
  fault.severity = api::Severity::Fatal;
  fault.verified = true;
  fault.generation = generation;
  fault.first_seen = fault.last_seen = when;
  fault.message = "a memory bank failed";
  device.health = api::Health::Unhealthy;
  device.since = when;
  device.generation = generation;
  device.traceparent = "trace-" + std::to_string(generation);
  device.faults = {fault};
}

inline void repair_device(NodeView& view, int index, WallTime when) {
  auto& device = view.devices.at(static_cast<size_t>(index));
  device.health = api::Health::Healthy;
  device.since = when;
  device.faults.clear();
}

// Decides and patches as the operator does; the object is then what a server would hold.
inline Decision act(json::Value& node, NodeView& view, WallTime now) {
  view.node = *api::parse_node(node);
  if (view.heartbeat) view.heartbeat->renewed = now;
  Decision decision = plan(view, now);
  REQUIRE(apply_patch(node, build_patch(view.node, decision)));
  view.node = *api::parse_node(node);
  return decision;
}

// managedFields as they are after these set spec.unschedulable.
inline json::Value cordoned_by(const std::vector<std::string_view>& managers) {
  json::Array fields;
  for (const auto manager : managers) {
    fields.push_back(
        json::object({{"manager", manager},
                      {"fieldsV1", *json::parse(R"({"f:spec":{"f:unschedulable":{}}})")}}));
  }
  return {std::move(fields)};
}

// A node that is in quarantine because of device 1, generation 1, since kNow.
struct Quarantined {
  json::Value node = node_object();
  NodeView view = healthy_view();

  explicit Quarantined(json::Value before = node_object()) : node(std::move(before)) {
    break_device(view, 1, 1);
    REQUIRE(act(node, view, kNow).act == Act::Quarantine);
  }
  Decision at(WallTime now) { return act(node, view, now); }
};

}  // namespace nobs::decide::test
