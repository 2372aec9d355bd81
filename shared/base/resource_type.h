// What a Kubernetes resource is called in URLs. Plain constants, so that the names live in shared/api and shared/kube
// knows none of them.
#pragma once

#include <string_view>

namespace nobs {

struct ResourceType {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = false;
};

}  // namespace nobs
