// How to reach an API server and who to be there: from inside a pod, or from a kubeconfig.
//
// For both programs and nobs. Functions of their inputs and files; thread-safe.
//
//   const auto config = kube::load_config({.kubeconfig = options.kubeconfig}, std::getenv);
//   kube::Client client(*config, "neuron-observer-agent", clock);
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "shared/net/client.h"

namespace nobs::kube {

// A credential plugin of a kubeconfig (client.authentication.k8s.io/v1 and v1beta1), such as `aws eks get-token`.
struct ExecPlugin {
  std::string api_version, command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;  // what the kubeconfig says when the command is missing
};

struct Config {
  net::Endpoint endpoint;
  std::string path_prefix;  // of the server URL; usually empty
  std::string token;        // fixed
  std::string token_file;   // wins over token; looked at every 10 s and after a 401
  ExecPlugin exec;          // command empty: none
  std::string default_namespace = "default";
};

struct ConfigSource {
  std::string
      kubeconfig;  // a path; empty: $KUBECONFIG (first existing file of its list), in-cluster, ~/.kube/config
  std::string context;  // empty: current-context
};

using GetEnv = std::function<const char*(const char*)>;

// Errors name the file and the entry that is missing or wrong.
Result<Config> load_config(const ConfigSource& source, const GetEnv& get_env);
Result<Config> parse_kubeconfig(const std::string& text, const std::string& directory,
                                const std::string& context);
// KUBERNETES_SERVICE_HOST and the service account's files under `root` (/var/run/secrets/kubernetes.io/serviceaccount).
Result<Config> in_cluster_config(const GetEnv& get_env, const std::string& root);

}  // namespace nobs::kube
