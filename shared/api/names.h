// Every name of the contract: API group, kinds, keys, field managers. One place.
#pragma once

#include <string>
#include <string_view>

#include "shared/base/resource_type.h"

namespace nobs::api {

inline constexpr std::string_view kGroup = "neuronobserver.io";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kGroupVersion = "neuronobserver.io/v1alpha1";

inline constexpr ResourceType kNeuronDevices{kGroup, kVersion, "neurondevices", "NeuronDevice",
                                             false};
inline constexpr ResourceType kPolicies{kGroup, kVersion, "neuronquarantinepolicies",
                                        "NeuronQuarantinePolicy", false};
inline constexpr ResourceType kIncidents{kGroup, kVersion, "neuronincidents", "NeuronIncident",
                                         false};
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false};
inline constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
inline constexpr ResourceType kEvents{"events.k8s.io", "v1", "events", "Event", true};

inline constexpr std::string_view kTaintKey = "neuronobserver.io/unhealthy";
inline constexpr std::string_view kQuarantineAnnotation = "neuronobserver.io/quarantine";
inline constexpr std::string_view kHoldAnnotation = "neuronobserver.io/hold";
inline constexpr std::string_view kAcknowledgeAnnotation =
    "neuronobserver.io/acknowledge";  // on a NeuronDevice
inline constexpr std::string_view kIgnoreLabel = "neuronobserver.io/ignore";
inline constexpr std::string_view kNodeLabel = "neuronobserver.io/node";  // on a NeuronDevice
inline constexpr std::string_view kNodeCondition = "NeuronDevicesHealthy";

inline constexpr std::string_view kAgent = "neuron-observer-agent";  // field manager and user agent
inline constexpr std::string_view kOperator = "neuron-observer-operator";
inline constexpr std::string_view kHeartbeatPrefix = "neuron-observer-";  // + node name
inline constexpr std::string_view kLeaderLease = "neuron-observer-operator";
inline constexpr std::string_view kDefaultNamespace = "neuron-observer";
inline constexpr std::string_view kDefaultPolicy = "default";

inline constexpr size_t kMaxMessage = 1024;

// "<node>-neuron<index>"; when that is longer than 253 characters the node part is cut and ends in a hash of the whole.
std::string device_name(std::string_view node, int index);
std::string heartbeat_name(std::string_view node);
// A label's value has at most 63 characters: longer node names are cut and end in a hash.
std::string node_label_value(std::string_view node);

}  // namespace nobs::api
