#include "operator/decide/patch.h"

#include "shared/api/names.h"

namespace nobs::decide {
namespace {

struct Operations {
  json::Value list = json::Array{};

  void test(const std::string& path, json::Value value) {
    list.push_back(json::object({{"op", "test"}, {"path", path}, {"value", std::move(value)}}));
  }
  void add(const std::string& path, json::Value value) {
    list.push_back(json::object({{"op", "add"}, {"path", path}, {"value", std::move(value)}}));
  }
  void remove(const std::string& path) {
    list.push_back(json::object({{"op", "remove"}, {"path", path}}));
  }
};

std::string annotation_path(std::string_view key) {
  return "/metadata/annotations/" + json::pointer_token(key);
}

void write_annotation(const api::Node& node, const api::Quarantine& note, Operations& operations) {
  const std::string text = api::dump_quarantine(note);
  if (!node.has_annotations) {
    // A member can only be tested or added where its parent exists.
    operations.test("/metadata/annotations", nullptr);
    operations.add("/metadata/annotations",
                   json::object({{std::string(api::kQuarantineAnnotation), text}}));
    return;
  }
  const std::string path = annotation_path(api::kQuarantineAnnotation);
  operations.test(path, node.quarantine_text ? json::Value(*node.quarantine_text) : json::Value());
  operations.add(path, text);
}

void write_taint(const api::Node& node, const Decision& decision, Operations& operations) {
  const json::Value taint = json::object(
      {{"key", api::kTaintKey}, {"value", decision.note.reason}, {"effect", decision.effect}});
  operations.test("/spec/taints", node.raw_taints);
  for (size_t i = node.taints.size(); i-- > 0;) {
    if (node.taints[i].key == api::kTaintKey)
      operations.remove("/spec/taints/" + std::to_string(i));
  }
  if (node.taints.empty()) {
    operations.add("/spec/taints", json::array({taint}));
  } else {
    operations.add("/spec/taints/-", taint);
  }
}

void remove_taint(const api::Node& node, Operations& operations) {
  operations.test("/spec/taints", node.raw_taints);
  size_t ours = 0;
  for (const auto& taint : node.taints) ours += taint.key == api::kTaintKey ? 1 : 0;
  if (ours == 0) return;
  if (ours == node.taints.size()) return operations.remove("/spec/taints");
  // From the back, so that the indexes in front stay what they are.
  for (size_t i = node.taints.size(); i-- > 0;) {
    if (node.taints[i].key == api::kTaintKey)
      operations.remove("/spec/taints/" + std::to_string(i));
  }
}

}  // namespace

json::Value build_patch(const api::Node& node, const Decision& decision) {
  Operations operations;
  if (decision.act == Act::Nothing || decision.dry_run) return operations.list;
  operations.test("/metadata/uid", node.uid);
  operations.test("/spec/unschedulable", node.raw_unschedulable);
  switch (decision.act) {
    case Act::Quarantine:
      write_annotation(node, decision.note, operations);
      write_taint(node, decision, operations);
      if (decision.note.cordoned) operations.add("/spec/unschedulable", true);
      break;
    case Act::Update:
      write_annotation(node, decision.note, operations);
      write_taint(node, decision, operations);
      break;
    case Act::Release:
    case Act::Override:
      write_annotation(node, decision.note, operations);
      remove_taint(node, operations);
      if (decision.uncordon) {
        // Nobody may have asked to keep the node out since it was read.
        operations.test(annotation_path(api::kHoldAnnotation), nullptr);
        operations.remove("/spec/unschedulable");
      }
      break;
    case Act::Nothing:
      break;
  }
  return operations.list;
}

}  // namespace nobs::decide
