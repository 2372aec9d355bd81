// What the API server holds about this node: its Node and its NeuronDevices, kept current by two watches.
//
// For the publisher and the heartbeat. Thread-safe. Two watches of single objects' size cost an idle node about one
// request in five minutes, and let us see a person's acknowledgement, a deleted object, or another node of our name.
//
//   OwnView view(client, clock, random, logger, watch_metrics, "node-a");
//   run({{"watch-node", [&](auto stop) { view.run_node(stop); }}, {"watch-devices", …}});
//   if (auto state = view.read(); state.synced) ...
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "shared/api/neuron_device.h"
#include "shared/runtime/reflector.h"

namespace nobs::publish {

struct OwnNode {
  std::string uid;
  json::Value condition;  // ours, as it is on the Node; null: none
};

struct OwnState {
  bool synced = false;          // both were listed whole at least once
  std::optional<OwnNode> node;  // nothing: the Node does not exist (yet)
  std::map<std::string, api::NeuronDevice, std::less<>> devices;  // by name
};

class OwnView {
 public:
  OwnView(kube::Client& client, Clock& clock, const Random& random, const log::Logger& logger,
          runtime::ReflectorMetrics& metrics, const std::string& node_name);

  void run_node(const std::stop_token& stop) { node_.run(stop); }
  void run_devices(const std::stop_token& stop) { devices_.run(stop); }

  OwnState read() const;
  std::string node_uid() const;  // empty: not known
  // What a write of ours was answered with: known at once, without waiting for the watch.
  void learn_device(const json::Value& object);
  void forget_device(const std::string& name);
  void learn_node(const json::Value& object);
  // Called after each change, on a watch's thread; must not block.
  void on_change(std::function<void()> callback);

 private:
  runtime::ReflectorHandlers node_handlers();
  runtime::ReflectorHandlers device_handlers();
  template <typename Change>
  void change(const Change& apply);

  const log::Logger& logger_;
  mutable std::mutex mutex_;
  OwnState state_;
  bool node_listed_ = false, devices_listed_ = false;
  std::set<std::string> unlisted_;  // devices that the list being read has not named yet
  bool node_unlisted_ = false;
  std::function<void()> on_change_;
  runtime::Reflector node_;
  runtime::Reflector devices_;
};

}  // namespace nobs::publish
