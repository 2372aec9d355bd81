#include <doctest/doctest.h>

#include <map>
#include <string>

#include "shared/base/strings.h"
#include "shared/kube/config.h"
#include "shared/kube/server_url.h"
#include "tests/support/directory.h"

namespace nobs::kube {
namespace {

using test::Directory;

const std::string kPem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "clusters:\n- name: other\n  cluster: {server: 'https://other'}\n"
         "- name: here\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: me\n  user: {" +
         user +
         "}\n"
         "contexts:\n- name: main\n  context: {cluster: here, user: me, namespace: team}\n"
         "- name: anonymous\n  context: {cluster: other}\n"
         "- name: broken\n  context: {cluster: nowhere, user: me}\n"
         "- name: nobody\n  context: {cluster: here, user: ghost}\n";
}

const std::string kServer = "server: 'https://10.0.0.1:6443'";

Result<Config> parsed(const std::string& cluster, const std::string& user,
                      const std::string& context = "") {
  return parse_kubeconfig(kubeconfig(cluster, user), "/home/me/.kube", context);
}

std::string problem(const std::string& cluster, const std::string& user,
                    const std::string& context = "") {
  const auto config = parsed(cluster, user, context);
  return config ? "no problem" : config.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

GetEnv env_of(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

TEST_CASE("the current context names cluster, user and namespace") {
  const auto config =
      parsed(kServer + ", certificate-authority-data: " + base64_encode(kPem), "token: abc");
  REQUIRE(config);
  CHECK(config->endpoint.host == "10.0.0.1");
  CHECK(config->endpoint.port == 6443);
  REQUIRE(config->endpoint.tls);
  CHECK(config->endpoint.tls->ca_pem == kPem);
  CHECK_FALSE(config->endpoint.tls->insecure);
  CHECK(config->token == "abc");
  CHECK(config->default_namespace == "team");
}

TEST_CASE("another context can be chosen, and one without a user is anonymous") {
  const auto config = parsed(kServer, "token: abc", "anonymous");
  REQUIRE(config);
  CHECK(config->endpoint.host == "other");
  CHECK(config->endpoint.port == 443);
  CHECK(config->token.empty());
  CHECK(config->default_namespace == "default");
}

TEST_CASE("relative paths belong to the kubeconfig's directory") {
  const auto config =
      parsed(kServer + ", certificate-authority: ca.crt, tls-server-name: kube.example",
             "client-certificate: pki/me.crt, client-key: /abs/me.key, tokenFile: token");
  REQUIRE(config);
  CHECK(config->endpoint.tls->ca_file == "/home/me/.kube/ca.crt");
  CHECK(config->endpoint.tls->server_name == "kube.example");
  CHECK(config->endpoint.tls->certificate_file == "/home/me/.kube/pki/me.crt");
  CHECK(config->endpoint.tls->key_file == "/abs/me.key");
  CHECK(config->token_file == "/home/me/.kube/token");
}

TEST_CASE("data wins over a file, as in client-go") {
  const std::string data = base64_encode(kPem);
  const auto config =
      parsed(kServer + ", certificate-authority: ca.crt, certificate-authority-data: " + data,
             "client-certificate: a, client-certificate-data: " + data +
                 ", client-key: b, client-key-data: " + data);
  REQUIRE(config);
  CHECK(config->endpoint.tls->ca_file.empty());
  CHECK(config->endpoint.tls->certificate_file.empty());
  CHECK(config->endpoint.tls->key_file.empty());
  CHECK(config->endpoint.tls->key_pem == kPem);
}

TEST_CASE("an exec plugin keeps its arguments and environment") {
  const std::string exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [eks, "
      "get-token], "
      "env: [{name: AWS_PROFILE, value: prod}], installHint: Install it, interactiveMode: "
      "IfAvailable, "
      "provideClusterInfo: false}";
  const auto config = parsed(kServer, exec);
  REQUIRE(config);
  CHECK(config->exec.command == "aws");
  CHECK(config->exec.args == std::vector<std::string>{"eks", "get-token"});
  REQUIRE(config->exec.env.size() == 1);
  CHECK(config->exec.env[0].first == "AWS_PROFILE");
  CHECK(config->exec.env[0].second == "prod");
  CHECK(config->exec.install_hint == "Install it");
  const auto relative =
      parsed(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/x}");
  REQUIRE(relative);
  CHECK(relative->exec.command == "/home/me/.kube/bin/x");
}

TEST_CASE("each error names the entry and what is wanted") {
  CHECK(contains(problem("certificate-authority: x", ""), "cluster \"here\": server is missing"));
  CHECK(contains(problem("server: 10.0.0.1", ""), "wanted like https://"));
  CHECK(contains(problem("server: 7", ""), "cluster \"here\": server must be text"));
  CHECK(contains(problem(kServer + ", certificate-authority-data: '%%%'", ""),
                 "certificate-authority-data is not base64"));
  CHECK(contains(problem(kServer + ", certificate-authority-data: aGVsbG8=", ""),
                 "certificate-authority-data holds no PEM"));
  CHECK(
      contains(problem(kServer + ", certificate-authority: x, insecure-skip-tls-verify: true", ""),
               "keep one"));
  CHECK(contains(problem(kServer + ", proxy-url: 'http://p'", ""), "proxy-url is not supported"));
  CHECK(contains(problem(kServer, "token: 123"), "user \"me\": token must be text"));
  CHECK(contains(problem(kServer, "username: a, password: b"), "username is not supported"));
  CHECK(contains(problem(kServer, "as: admin"), "user \"me\": as is not supported"));
  CHECK(contains(problem(kServer, "auth-provider: {name: gcp}"), "use an exec plugin"));
  CHECK(contains(problem(kServer, "client-certificate: x"), "without client-key"));
  CHECK(contains(problem(kServer, "client-key: x"), "without client-certificate"));
  CHECK(contains(problem("server: 'http://x'", "client-key: x, client-certificate: y"), "https"));
  CHECK(contains(problem(kServer, "exec: {command: x}"), "exec: apiVersion must be"));
  CHECK(contains(problem(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
                 "user \"me\": exec: command is missing"));
  CHECK(contains(
      problem(kServer,
              "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [1]}"),
      "args must be a list of texts"));
  CHECK(contains(
      problem(kServer, "", "broken"),
      "context \"broken\" names the cluster \"nowhere\", which is not in clusters (other, here)"));
  CHECK(contains(problem(kServer, "", "nobody"), "the user \"ghost\", which is not in users (me)"));
  CHECK(contains(problem(kServer, "", "mian"),
                 "the context \"mian\", which is not in contexts (main, "));
}

TEST_CASE("a kubeconfig that is none says so") {
  const auto message = [](const std::string& text) {
    const auto config = parse_kubeconfig(text, "/", "");
    return config ? "no problem" : config.error().message;
  };
  CHECK(contains(message(""), "not a kubeconfig"));
  CHECK(contains(message("a: ["), "line"));
  CHECK(contains(message("contexts: [{name: a, context: {}}]"), "contexts: a"));
  CHECK(contains(message("current-context: a"), "not in contexts"));
  CHECK(contains(message("current-context: a\ncontexts: [{name: a}]"), "has no context"));
  CHECK(contains(message("current-context: a\ncontexts: [{name: a, context: {user: x}}]"),
                 "context \"a\": cluster is missing"));
}

TEST_CASE("server URLs: ports, IPv6, path prefixes") {
  const auto is = [](const char* text, bool https, const char* host, int port, const char* prefix) {
    const auto url = parse_server_url(text);
    return url && url->https == https && url->host == host && url->port == port &&
           url->path_prefix == prefix;
  };
  CHECK(is("https://10.0.0.1", true, "10.0.0.1", 443, ""));
  CHECK(is("https://10.0.0.1:6443/", true, "10.0.0.1", 6443, ""));
  CHECK(is("http://localhost:8001", false, "localhost", 8001, ""));
  CHECK(is("http://localhost", false, "localhost", 80, ""));
  CHECK(is("https://[fd00::1]:6443", true, "fd00::1", 6443, ""));
  CHECK(is("https://[::1]", true, "::1", 443, ""));
  CHECK(is("https://rancher.example/k8s/clusters/c-1//", true, "rancher.example", 443,
           "/k8s/clusters/c-1"));
  CHECK(is("HTTPS://ABC.gr7.eu-west-1.eks.amazonaws.com", true,
           "ABC.gr7.eu-west-1.eks.amazonaws.com", 443, ""));
  for (const auto* wrong : {"",
                            "10.0.0.1",
                            "ftp://x",
                            "https://",
                            "https:///x",
                            "https://:443",
                            "https://x:",
                            "https://x:0",
                            "https://x:65536",
                            "https://x:4a",
                            "https://u:p@x",
                            "https://[::1",
                            "https://[::1]x",
                            "https://[x]",
                            "https://[10.0.0.1]",
                            "https://::1",
                            "https://x/?a=b",
                            "https://x/#f",
                            "https://x y",
                            "https://x/a b",
                            "https://x\r\n",
                            "https://[fe80::1%eth0]"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_server_url(wrong));
  }
}

TEST_CASE("inside a pod the service account's files are used") {
  const Directory root;
  root.file("token", "abc\n");
  root.file("ca.crt", kPem);
  root.file("namespace", "neuron-observer\n");
  const auto config = in_cluster_config(
      env_of({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "6443"}}),
      root.path());
  REQUIRE(config);
  CHECK(config->endpoint.host == "fd00::1");
  CHECK(config->endpoint.port == 6443);
  CHECK(config->endpoint.tls->ca_file == root.path() + "/ca.crt");
  CHECK(config->token_file == root.path() + "/token");
  CHECK(config->default_namespace == "neuron-observer");
}

TEST_CASE("a pod without its files, or no pod at all, is told by name") {
  const Directory root;
  const auto env = env_of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}});
  CHECK(contains(in_cluster_config(env_of({}), root.path()).error().message,
                 "KUBERNETES_SERVICE_HOST"));
  CHECK(contains(in_cluster_config(env, root.path()).error().message, root.path() + "/token"));
  root.file("token", "abc");
  CHECK(contains(in_cluster_config(env, root.path()).error().message, root.path() + "/ca.crt"));
  root.file("ca.crt", kPem);
  CHECK(in_cluster_config(env, root.path())->endpoint.port == 443);
  CHECK(contains(in_cluster_config(env_of({{"KUBERNETES_SERVICE_HOST", "x"},
                                           {"KUBERNETES_SERVICE_PORT", "tcp://1"}}),
                                   root.path())
                     .error()
                     .message,
                 "KUBERNETES_SERVICE_PORT"));
}

TEST_CASE("the kubeconfig is the one given, else the first existing of KUBECONFIG, else HOME's") {
  const Directory home;
  std::filesystem::create_directory(home.path() + "/.kube");
  const auto with = [](const std::string& host) {
    return kubeconfig("server: 'https://" + host + "', certificate-authority: ca", "token: x");
  };
  const std::string given = home.file("given", with("given"));
  const std::string listed = home.file("listed", with("listed"));
  const auto host = [](const Result<Config>& config) {
    return config ? config->endpoint.host : config.error().message;
  };
  CHECK(
      contains(host(load_config({}, env_of({{"HOME", home.path()}}))), "no cluster is configured"));
  home.file(".kube/config", with("homely"));
  const std::string list = home.path() + "/absent::" + listed + ":" + given;
  const auto env = env_of({{"HOME", home.path()}, {"KUBECONFIG", list}});
  CHECK(host(load_config({.kubeconfig = given}, env)) == "given");
  CHECK(host(load_config({}, env)) == "listed");
  CHECK(host(load_config({}, env_of({{"HOME", home.path()}}))) == "homely");
  CHECK(load_config({}, env)->endpoint.tls->ca_file == home.path() + "/ca");
  CHECK(contains(host(load_config({}, env_of({{"KUBECONFIG", "/no/such"}}))), "/no/such"));
  CHECK(contains(host(load_config({.kubeconfig = "/no/such"}, env)), "/no/such"));
  CHECK(contains(host(load_config({.kubeconfig = given, .context = "mian"}, env)), given + ": "));
  CHECK(contains(
      host(load_config({}, env_of({{"HOME", home.path()}, {"KUBERNETES_SERVICE_HOST", "x"}}))),
      "service account"));
}

}  // namespace nobs::kube
