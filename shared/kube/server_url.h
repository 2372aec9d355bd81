// Where a kubeconfig's `server:` points. For kubeconfig.cpp; a pure function.
#pragma once

#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace nobs::kube {

struct ServerUrl {
  bool https = true;
  std::string host;  // IPv6 without brackets
  int port = 0;
  std::string path_prefix;  // "" or "/k8s/clusters/c-1": no slash at its end
};

Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace nobs::kube
