// Which file, or the pod's own service account.
#include "shared/base/file.h"
#include "shared/base/strings.h"
#include "shared/kube/config.h"

#include <unistd.h>

namespace nobs::kube {
namespace {

constexpr size_t kMaxKubeconfig = 4U << 20;
constexpr size_t kMaxToken = 64U << 10;
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const GetEnv& get_env, const char* name) {
  const char* value = get_env(name);
  return value ? value : "";
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Config> from_file(const std::string& path, const std::string& context) {
  const auto text = read_file(path, kMaxKubeconfig);
  if (!text) return text.error();
  auto config = parse_kubeconfig(*text, directory_of(path), context);
  if (!config) return invalid(path + ": " + config.error().message);
  return config;
}

Error missing(const std::string& path, const Error& why) {
  return {why.code, "service account: " + path + " is not usable: " + why.message, 0, {}};
}

}  // namespace

Result<Config> in_cluster_config(const GetEnv& get_env, const std::string& root) {
  Config config;
  config.endpoint.host = variable(get_env, "KUBERNETES_SERVICE_HOST");
  if (config.endpoint.host.empty()) {
    return invalid("not in a pod: the variable KUBERNETES_SERVICE_HOST is not set");
  }
  const std::string port = variable(get_env, "KUBERNETES_SERVICE_PORT");
  const auto number = parse_u64(port.empty() ? "443" : port);
  if (!number || *number == 0 || *number > 65535) {
    return invalid("variable KUBERNETES_SERVICE_PORT: not a port: \"" + printable(port, 20) + "\"");
  }
  config.endpoint.port = static_cast<int>(*number);
  config.token_file = root + "/token";
  if (const auto token = read_file(config.token_file, kMaxToken); !token) {
    return missing(config.token_file, token.error());
  }
  net::Tls tls;
  tls.ca_file = root + "/ca.crt";
  if (const auto ca = read_file(tls.ca_file, kMaxKubeconfig); !ca) {
    return missing(tls.ca_file, ca.error());
  }
  config.endpoint.tls = std::move(tls);
  if (const auto ns = read_file(root + "/namespace", 1024); ns && !trim(*ns).empty()) {
    config.default_namespace = trim(*ns);
  }
  return config;
}

Result<Config> load_config(const ConfigSource& source, const GetEnv& get_env) {
  if (!source.kubeconfig.empty()) return from_file(source.kubeconfig, source.context);
  const std::string listed = variable(get_env, "KUBECONFIG");
  for (const std::string_view path : split(listed, ':')) {
    if (::access(std::string(path).c_str(), F_OK) == 0) {
      return from_file(std::string(path), source.context);
    }
  }
  if (!listed.empty()) {
    return invalid("variable KUBECONFIG: no such file: " + printable(listed, 300));
  }
  if (source.context.empty() && !variable(get_env, "KUBERNETES_SERVICE_HOST").empty()) {
    return in_cluster_config(get_env, kServiceAccount);
  }
  const std::string home = variable(get_env, "HOME") + "/.kube/config";
  if (::access(home.c_str(), F_OK) == 0) return from_file(home, source.context);
  return invalid(
      "no cluster is configured: neither --kubeconfig nor the variable KUBECONFIG, not "
      "in a pod (KUBERNETES_SERVICE_HOST), and no file " +
      printable(home, 300));
}

}  // namespace nobs::kube
