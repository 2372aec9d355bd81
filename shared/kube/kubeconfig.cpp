// A kubeconfig as a Config. Every error names the entry; what we would have to ignore silently (a proxy, impersonation,
// a password) is refused, since the answers would be somebody else's or none.
#include <algorithm>

#include "shared/base/strings.h"
#include "shared/config/options.h"
#include "shared/json/value.h"
#include "shared/kube/config.h"
#include "shared/kube/server_url.h"

namespace nobs::kube {
namespace {

using json::Value;

// One named entry of clusters, users or contexts, read field by field; the first problem is kept.
class Entry {
 public:
  Entry(std::string place, const Value& body) : place_(std::move(place)), body_(body) {}

  std::string text(std::string_view key) {
    const Value& value = body_[key];
    if (!value.is_null() && !value.is_string()) {
      fail(std::string(key) + " must be text; put it in quotes");
    }
    return value.string_or("");
  }

  std::string path(std::string_view key, const std::string& directory) {
    std::string value = text(key);
    if (value.empty() || value[0] == '/' || directory.empty()) return value;
    return directory + "/" + value;
  }

  // certificate-authority-data and the like: base64 of PEM.
  std::string pem(std::string_view key) {
    const std::string encoded = text(key);
    const auto decoded = base64_decode(encoded);
    if (!decoded) {
      fail(std::string(key) + " is not base64");
    } else if (!encoded.empty() && decoded->find("-----BEGIN ") == std::string::npos) {
      fail(std::string(key) + " holds no PEM text (wanted -----BEGIN ... in base64)");
    } else {
      return *decoded;
    }
    return "";
  }

  void refuse(std::initializer_list<std::string_view> keys, const std::string& why) {
    for (const std::string_view key : keys) {
      if (body_.contains(key) && !body_[key].is_null() && body_[key] != Value("")) {
        fail(std::string(key) + " is not supported; " + why);
      }
    }
  }

  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = place_ + ": " + what;
  }

  const Value& operator[](std::string_view key) const { return body_[key]; }
  const std::string& problem() const { return problem_; }

 private:
  std::string place_, problem_;
  const Value& body_;
};

// The entry `name` of the list `list`, whose body is under `kind`: {name: x, cluster: {…}}.
Result<const Value*> find_entry(const Value& root, const char* list, const char* kind,
                                const std::string& name, const std::string& wanted_by) {
  std::vector<std::string> known;
  for (const auto& item : root[list].items()) {
    known.push_back(item["name"].string_or(""));
    if (known.back() != name) continue;
    if (item[kind].is_object()) return &item[kind];
    return invalid(std::string(list) + " entry \"" + printable(name, 100) + "\" has no " + kind);
  }
  return invalid(wanted_by + " " + kind + " \"" + printable(name, 100) + "\", which is not in " +
                 list + " (" + printable(join(known, ", "), 300) + ")");
}

void read_cluster(Entry& cluster, const std::string& directory, Config& config) {
  cluster.refuse({"proxy-url"}, "the server must be reachable directly");
  auto url = parse_server_url(cluster.text("server"));
  if (!url) {
    cluster.fail(url.error().message);
    return;
  }
  config.endpoint.host = url->host;
  config.endpoint.port = url->port;
  config.path_prefix = url->path_prefix;
  if (!url->https) return;
  net::Tls tls;
  tls.ca_pem = cluster.pem("certificate-authority-data");
  if (tls.ca_pem.empty()) tls.ca_file = cluster.path("certificate-authority", directory);
  tls.server_name = cluster.text("tls-server-name");
  tls.insecure = cluster["insecure-skip-tls-verify"].bool_or(false);
  if (tls.insecure && !(tls.ca_pem.empty() && tls.ca_file.empty())) {
    cluster.fail("insecure-skip-tls-verify together with a certificate authority; keep one");
  }
  config.endpoint.tls = std::move(tls);
}

void read_exec(Entry& user, const std::string& directory, ExecPlugin& plugin) {
  if (user["exec"].is_null()) return;
  Entry exec("exec", user["exec"]);
  plugin.api_version = exec.text("apiVersion");
  plugin.command = exec.text("command");
  plugin.install_hint = exec.text("installHint");
  for (const auto& argument : exec["args"].items()) {
    if (!argument.is_string()) exec.fail("args must be a list of texts; put numbers in quotes");
    plugin.args.push_back(argument.string_or(""));
  }
  for (const auto& variable : exec["env"].items()) {
    Entry pair("env", variable);
    plugin.env.emplace_back(pair.text("name"), pair.text("value"));
    const std::string& name = plugin.env.back().first;
    if (name.empty() || name.find('=') != std::string::npos)
      pair.fail("a name is missing or wrong");
    if (!pair.problem().empty()) exec.fail(pair.problem());
  }
  if (plugin.command.empty()) exec.fail("command is missing");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    exec.fail("apiVersion must be client.authentication.k8s.io/v1 or v1beta1, not \"" +
              printable(plugin.api_version, 100) + "\"");
  }
  if (exec.text("interactiveMode") == "Always")
    exec.fail("interactiveMode Always cannot be served");
  // As client-go: a bare name is looked up in PATH, anything with a slash belongs to the file's directory.
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = exec.path("command", directory);
  if (!exec.problem().empty()) user.fail(exec.problem());
}

void read_user(Entry& user, const std::string& directory, Config& config) {
  user.refuse({"username", "password"}, "API servers since 1.19 take no passwords");
  user.refuse({"auth-provider"}, "use an exec plugin");
  user.refuse({"as", "as-uid", "as-groups", "as-user-extra"}, "use a kubeconfig of that user");
  config.token = user.text("token");
  config.token_file = user.path("tokenFile", directory);
  read_exec(user, directory, config.exec);
  net::Tls credentials;
  credentials.certificate_pem = user.pem("client-certificate-data");
  credentials.key_pem = user.pem("client-key-data");
  if (credentials.certificate_pem.empty()) {
    credentials.certificate_file = user.path("client-certificate", directory);
  }
  if (credentials.key_pem.empty()) credentials.key_file = user.path("client-key", directory);
  const bool certificate =
      !credentials.certificate_pem.empty() || !credentials.certificate_file.empty();
  const bool key = !credentials.key_pem.empty() || !credentials.key_file.empty();
  if (certificate != key) {
    user.fail(certificate ? "a client certificate without client-key(-data)"
                          : "a client key without client-certificate(-data)");
  }
  if (!config.endpoint.tls) {
    if (certificate) user.fail("a client certificate needs an https server");
    return;
  }
  config.endpoint.tls->certificate_pem = std::move(credentials.certificate_pem);
  config.endpoint.tls->certificate_file = std::move(credentials.certificate_file);
  config.endpoint.tls->key_pem = std::move(credentials.key_pem);
  config.endpoint.tls->key_file = std::move(credentials.key_file);
}

std::string names(const Value& list) {
  std::vector<std::string> all;
  for (const auto& item : list.items()) all.push_back(item["name"].string_or(""));
  return all.empty() ? "none" : printable(join(all, ", "), 300);
}

}  // namespace

Result<Config> parse_kubeconfig(const std::string& text, const std::string& directory,
                                const std::string& context) {
  const auto parsed = config::parse_yaml(text);
  if (!parsed) return parsed.error();
  const Value& root = *parsed;
  if (!root.is_object())
    return invalid("not a kubeconfig: clusters, users and contexts are wanted");

  const std::string chosen = context.empty() ? root["current-context"].string_or("") : context;
  if (chosen.empty()) {
    return invalid("current-context is missing and no context was chosen; contexts: " +
                   names(root["contexts"]));
  }
  const auto context_body =
      find_entry(root, "contexts", "context", chosen,
                 context.empty() ? "current-context names the" : "there was chosen the");
  if (!context_body) return context_body.error();
  const std::string by_context = "context \"" + printable(chosen, 100) + "\"";
  Entry wanted(by_context, **context_body);
  const std::string cluster_name = wanted.text("cluster");
  const std::string user_name = wanted.text("user");
  const std::string ns = wanted.text("namespace");
  if (cluster_name.empty()) wanted.fail("cluster is missing");
  if (!wanted.problem().empty()) return invalid(wanted.problem());

  Config config;
  if (!ns.empty()) config.default_namespace = ns;
  const auto cluster_body =
      find_entry(root, "clusters", "cluster", cluster_name, by_context + " names the");
  if (!cluster_body) return cluster_body.error();
  Entry cluster("cluster \"" + printable(cluster_name, 100) + "\"", **cluster_body);
  read_cluster(cluster, directory, config);
  if (!cluster.problem().empty()) return invalid(cluster.problem());
  if (user_name.empty()) return config;  // anonymous

  const auto user_body = find_entry(root, "users", "user", user_name, by_context + " names the");
  if (!user_body) return user_body.error();
  Entry user("user \"" + printable(user_name, 100) + "\"", **user_body);
  read_user(user, directory, config);
  if (!user.problem().empty()) return invalid(user.problem());
  return config;
}

}  // namespace nobs::kube
