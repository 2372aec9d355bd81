#include "shared/api/event.h"

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::api {

json::Value event_object(const EventText& text, const ResourceType& about, std::string_view name,
                         std::string_view uid, std::string_view controller,
                         std::string_view instance, WallTime now) {
  const std::string stamp =
      hex16(static_cast<std::uint64_t>(now.time_since_epoch().count()) ^ fnv1a(text.reason));
  std::string event_name = std::string(name).substr(0, 253 - stamp.size() - 1);
  while (event_name.ends_with('.') || event_name.ends_with('-')) event_name.pop_back();
  event_name += "." + stamp;
  const std::string api_version = about.group.empty()
                                      ? std::string(about.version)
                                      : std::string(about.group) + "/" + std::string(about.version);
  return json::object({
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", json::object({{"name", std::move(event_name)}, {"namespace", "default"}})},
      {"eventTime", format_micros(now)},
      {"type", text.type},
      {"reason", text.reason},
      {"action", text.action},
      {"note", utf8(text.note, kMaxMessage)},
      {"reportingController", controller},
      {"reportingInstance", std::string(instance).substr(0, 128)},
      {"regarding",
       json::object(
           {{"apiVersion", api_version}, {"kind", about.kind}, {"name", name}, {"uid", uid}})},
  });
}

}  // namespace nobs::api
