// What the real server does to objects of built-in kinds beyond storing them: zero values, defaults, validation.
#pragma once

#include <vector>

#include "tests/sim/api/status.h"

namespace nobs::sim {

// Members that are never on the wire go (null, empty labels, a Node's unschedulable: false); members that always are
// come (a Node's spec and nodeInfo). For custom resources only the metadata.
void normalize(const Resource& resource, json::Value& object);
// At creation only: the status that the server gives a new pod or namespace.
void set_initial_status(const Resource& resource, json::Value& object);

// Text where JSON has the wrong type for the Go struct: the request is refused before it is an object. Empty: fine.
std::string misfit(const Resource& resource, const json::Value& object);
std::vector<Cause> built_in_mistakes(const Resource& resource, const json::Value& object);

// An events.k8s.io/v1 event as core/v1 shows it (kubectl describe asks there).
json::Value core_event(const json::Value& event);

}  // namespace nobs::sim
