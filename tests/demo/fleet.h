// The demo's objects, and what the API shows about them. Functions of a client; what is not there reads as empty.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "shared/api/neuron_device.h"
#include "shared/api/node.h"
#include "shared/kube/client.h"

namespace nobs::demo {

inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};

json::Value namespace_object();
json::Value node_object(const std::string& name);  // a ready trn2.48xlarge
// Enforce, two nodes at once: two will fail, and the default lets the second wait.
json::Value policy_object(std::chrono::seconds quiet_time);

api::Node read_node(kube::Client& client, const std::string& name);
bool has_our_taint(const api::Node& node);
std::string read_condition(kube::Client& client, const std::string& node);
api::NeuronDevice read_device(kube::Client& client, const std::string& node, int index);
std::vector<api::NeuronDevice> read_devices(kube::Client& client, const std::string& node);
// Object, reason and text, in the order of time.
std::vector<std::vector<std::string>> read_events(kube::Client& client);

}  // namespace nobs::demo
