// Events of the events.k8s.io/v1 API.
#pragma once

#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/resource_type.h"
#include "shared/json/value.h"

namespace nobs::api {

struct EventText {
  std::string type;    // "Normal" or "Warning"
  std::string reason;  // one word, as people search for it
  std::string action;  // what was done or tried
  std::string note;    // for people, at most 1,024 bytes
};

// An Event about a cluster-scoped object; such events live in namespace "default".
json::Value event_object(const EventText& text, const ResourceType& about, std::string_view name,
                         std::string_view uid, std::string_view controller,
                         std::string_view instance, WallTime now);

}  // namespace nobs::api
