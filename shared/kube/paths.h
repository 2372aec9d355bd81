// Request targets of the Kubernetes API, percent-encoded. Pure functions, for client.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/resource_type.h"
#include "shared/base/result.h"
#include "shared/kube/client.h"

namespace nobs::kube {

using Query = std::vector<std::pair<std::string, std::string>>;  // empty values are left out

// An empty `name` is the collection; an empty `ns` of a namespaced type is all namespaces.
std::string resource_path(const ResourceType& type, std::string_view ns, std::string_view name,
                          std::string_view subresource);
std::string query_text(const Query& query);  // "" or "?a=b&c=d"

Query list_query(const ListOptions& options);
Query watch_query(const WatchOptions& options);

// One path segment as the API server accepts names: not empty, not "." or "..", without / and %.
Result<void> check_name(std::string_view what, std::string_view name);

}  // namespace nobs::kube
