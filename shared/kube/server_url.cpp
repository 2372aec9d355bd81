#include "shared/kube/server_url.h"

#include <algorithm>

#include "shared/base/strings.h"

namespace nobs::kube {
namespace {

constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kAddressCharacters = "0123456789abcdefABCDEF:.";
constexpr std::string_view kPathCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/%";

bool only(std::string_view text, std::string_view accepted) {
  return text.find_first_not_of(accepted) == std::string_view::npos;
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  if (text.empty()) return invalid("server is missing");
  const Error wrong = invalid("server \"" + printable(text, 200) +
                              "\" is not accepted; wanted like https://10.0.0.1:443 or "
                              "https://[fd00::1]:6443/prefix");
  ServerUrl url;
  std::string_view rest = text;
  if (lower(rest.substr(0, 8)) == "https://") {
    rest.remove_prefix(8);
  } else if (lower(rest.substr(0, 7)) == "http://") {
    url.https = false;
    rest.remove_prefix(7);
  } else {
    return wrong;
  }
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!only(path, kPathCharacters)) return wrong;
  url.path_prefix = path;

  size_t host_end = authority.find(':');
  if (authority.starts_with('[')) {
    const size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return wrong;
    url.host = authority.substr(1, bracket - 1);
    if (url.host.find(':') == std::string::npos || !only(url.host, kAddressCharacters))
      return wrong;
    host_end = bracket + 1;
  } else {
    url.host = authority.substr(0, host_end);
    if (!only(url.host, kHostCharacters)) return wrong;
  }
  if (url.host.empty()) return wrong;
  authority.remove_prefix(std::min(host_end, authority.size()));
  if (authority.empty()) {
    url.port = url.https ? 443 : 80;
    return url;
  }
  if (authority[0] != ':') return wrong;
  const auto port = parse_u64(authority.substr(1));
  if (!port || *port == 0 || *port > 65535) return wrong;
  url.port = static_cast<int>(*port);
  return url;
}

}  // namespace nobs::kube
