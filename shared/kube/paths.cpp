#include "shared/kube/paths.h"

#include "shared/base/strings.h"

namespace nobs::kube {

std::string resource_path(const ResourceType& type, std::string_view ns, std::string_view name,
                          std::string_view subresource) {
  std::string path = type.group.empty() ? "/api" : "/apis/" + percent_encode(type.group);
  path += "/" + percent_encode(type.version);
  if (type.namespaced && !ns.empty()) path += "/namespaces/" + percent_encode(ns);
  path += "/" + percent_encode(type.plural);
  if (!name.empty()) path += "/" + percent_encode(name);
  if (!subresource.empty()) path += "/" + percent_encode(subresource);
  return path;
}

std::string query_text(const Query& query) {
  std::string text;
  for (const auto& [key, value] : query) {
    if (value.empty()) continue;
    text += text.empty() ? "?" : "&";
    text += percent_encode(key) + "=" + percent_encode(value);
  }
  return text;
}

Query list_query(const ListOptions& options) {
  return {{"fieldSelector", options.field_selector},
          {"labelSelector", options.label_selector},
          {"limit", options.limit > 0 ? std::to_string(options.limit) : ""},
          {"continue", options.continue_token}};
}

Query watch_query(const WatchOptions& options) {
  Query query = {{"watch", "1"},
                 {"allowWatchBookmarks", "true"},
                 {"resourceVersion", options.resource_version},
                 {"fieldSelector", options.field_selector},
                 {"labelSelector", options.label_selector},
                 {"timeoutSeconds", std::to_string(options.timeout.count())}};
  if (options.initial_events) {
    query.emplace_back("sendInitialEvents", "true");
    query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  return query;
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of("/%") != std::string_view::npos) {
    return invalid(std::string(what) + " \"" + printable(name, 100) +
                   "\" is not accepted; wanted a name without / and %");
  }
  return {};
}

}  // namespace nobs::kube
