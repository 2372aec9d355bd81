#include "agent/publish/own_view.h"

#include "shared/api/names.h"

namespace nobs::publish {
namespace {

OwnNode reduce_node(const json::Value& object) {
  OwnNode node{object["metadata"]["uid"].string_or(""), {}};
  for (const auto& condition : object["status"]["conditions"].items()) {
    if (condition["type"].string_or("") == api::kNodeCondition) node.condition = condition;
  }
  return node;
}

}  // namespace

OwnView::OwnView(kube::Client& client, Clock& clock, const Random& random,
                 const log::Logger& logger, runtime::ReflectorMetrics& metrics,
                 const std::string& node_name)
    : logger_(logger),
      node_(client, clock, random, logger, metrics,
            {.type = api::kNodes, .field_selector = "metadata.name=" + node_name}, node_handlers()),
      devices_(client, clock, random, logger, metrics,
               {.type = api::kNeuronDevices, .field_selector = "spec.nodeName=" + node_name},
               device_handlers()) {}

template <typename Change>
void OwnView::change(const Change& apply) {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    apply();
    state_.synced = node_listed_ && devices_listed_;
    callback = on_change_;
  }
  if (callback) callback();
}

runtime::ReflectorHandlers OwnView::node_handlers() {
  return {
      .begin_list = [this] { change([&] { node_unlisted_ = true; }); },
      .upsert = [this](const json::Value& object) { learn_node(object); },
      .remove = [this](const json::Value&) { change([&] { state_.node.reset(); }); },
      .end_list =
          [this] {
            change([&] {
              if (node_unlisted_) state_.node.reset();
              node_listed_ = true;
            });
          },
  };
}

runtime::ReflectorHandlers OwnView::device_handlers() {
  return {
      .begin_list =
          [this] {
            change([&] {
              unlisted_.clear();
              for (const auto& [name, device] : state_.devices) unlisted_.insert(name);
            });
          },
      .upsert = [this](const json::Value& object) { learn_device(object); },
      .remove =
          [this](const json::Value& object) {
            forget_device(object["metadata"]["name"].string_or(""));
          },
      .end_list =
          [this] {
            change([&] {
              for (const auto& name : unlisted_) state_.devices.erase(name);
              unlisted_.clear();
              devices_listed_ = true;
            });
          },
  };
}

OwnState OwnView::read() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string OwnView::node_uid() const {
  const std::lock_guard lock(mutex_);
  return state_.node ? state_.node->uid : std::string();
}

void OwnView::learn_device(const json::Value& object) {
  auto device = api::parse_device(object);
  if (!device) {
    // An object that nobody can read is replaced by the next publish, like one that is not there.
    logger_.warn("own device object is unreadable", {{"error", device.error().message}});
    api::NeuronDevice unreadable;
    unreadable.name = object["metadata"]["name"].string_or("");
    unreadable.uid = object["metadata"]["uid"].string_or("");
    if (unreadable.name.empty()) return;
    unreadable.index = -1;
    device = std::move(unreadable);
  }
  change([&] {
    unlisted_.erase(device->name);
    const auto known = state_.devices.find(device->name);
    const bool same_object = known != state_.devices.end() && known->second.uid == device->uid;
    if (same_object &&
        kube::is_older_version(device->resource_version, known->second.resource_version))
      return;
    state_.devices.insert_or_assign(device->name, std::move(*device));
  });
}

void OwnView::forget_device(const std::string& name) {
  change([&] { state_.devices.erase(name); });
}

void OwnView::learn_node(const json::Value& object) {
  change([&] {
    node_unlisted_ = false;
    state_.node = reduce_node(object);
  });
}

void OwnView::on_change(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(callback);
}

}  // namespace nobs::publish
