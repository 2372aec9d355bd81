#include "tests/sim/api/api_server.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "shared/base/file.h"
#include "shared/base/strings.h"
#include "shared/base/unique_fd.h"
#include "tests/sim/api/certificate.h"
#include "tests/sim/api/core.h"
#include "tests/sim/api/writes.h"

namespace nobs::sim {
namespace {

Result<std::vector<Resource>> load_resources(const std::string& directory) {
  auto resources = built_in_resources();
  if (directory.empty()) return resources;
  std::error_code problem;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  if (files.empty()) return invalid(directory + ": no CRDs there");
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const auto text = read_file(file, 4U << 20);
    if (!text) return text.error();
    auto rows = resources_of_crd(*text);
    if (!rows) return invalid(file + ": " + rows.error().message);
    std::move(rows->begin(), rows->end(), std::back_inserter(resources));
  }
  return resources;
}

const Resource* find(const Core& core, const ResourceType& type) {
  const auto found =
      std::find_if(core.resources.begin(), core.resources.end(), [&](const Resource& row) {
        return row.group == type.group && row.version == type.version && row.plural == type.plural;
      });
  return found == core.resources.end() ? nullptr : &*found;
}

std::string key_of(const Resource& resource, std::string_view ns, std::string_view name) {
  return resource.namespaced ? std::string(ns) + "/" + std::string(name) : std::string(name);
}

UniqueFd memory_file(std::string_view content) {
  UniqueFd file(::memfd_create("nobs-sim-api", MFD_CLOEXEC));
  const auto written = ::write(file.get(), content.data(), content.size());
  if (written != static_cast<ssize_t>(content.size())) file.reset();
  return file;
}

std::string path_of(const UniqueFd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace

struct ApiServer::State {
  explicit State(Options options) : core(std::move(options)) {}

  Core core;
  Certificate certificate;
  std::unique_ptr<net::Server> server;
};

ApiServer::ApiServer(Options options) : state_(std::make_unique<State>(std::move(options))) {
  for (const auto* name : {"admin", "alice", "nobody"})
    add_user(name, std::string("sim-token-of-") + name, std::string_view(name) != "nobody");
}

ApiServer::~ApiServer() { stop(); }

Result<void> ApiServer::start() {
  Core& core = state_->core;
  auto resources = load_resources(core.options.crd_directory);
  if (!resources) return resources.error();
  core.resources = std::move(*resources);
  for (const auto* name : {"default", "kube-system", "kube-node-lease", "neuron-observer"})
    put({"", "v1", "namespaces", "Namespace"},
        json::object({{"metadata", json::object({{"name", name}})},
                      {"spec", json::object({{"finalizers", json::array({"kubernetes"})}})},
                      {"status", json::object({{"phase", "Active"}})}}));

  auto certificate = make_certificate();
  if (!certificate) return certificate.error();
  state_->certificate = std::move(*certificate);
  // The server reads files, once, at its start; these are none on a disk.
  const auto certificate_file = memory_file(state_->certificate.certificate_pem);
  const auto key_file = memory_file(state_->certificate.key_pem);
  if (!certificate_file || !key_file) return invalid("no memory for the certificate");
  // Generous: what is tested here is the client.
  state_->server = std::make_unique<net::Server>(
      net::ServerOptions{.port = core.options.port,
                         .certificate_file = path_of(certificate_file),
                         .key_file = path_of(key_file),
                         .threads = 16,
                         .max_waiting = 1'024,
                         .max_streams = 1'024,
                         .deadline = std::chrono::seconds(30),
                         .max_head = 64U << 10,
                         .max_body = 3U << 20},
      [&core](const net::Request& request) { return handle(core, request); });
  auto started = state_->server->start();
  if (!started) {
    state_->server.reset();
    return started;
  }
  return {};
}

void ApiServer::stop() {
  drop_watches();
  if (state_->server) state_->server->stop();
}

int ApiServer::port() const { return state_->server ? state_->server->port() : 0; }
std::string ApiServer::url() const { return "https://127.0.0.1:" + std::to_string(port()); }
std::string ApiServer::ca_pem() const { return state_->certificate.ca_pem; }

std::string ApiServer::token(std::string_view user) const {
  return state_->core.users.token_of(user);
}

std::string ApiServer::kubeconfig(std::string_view user) const {
  const std::string name(user);
  return "apiVersion: v1\nkind: Config\nclusters: [{name: sim, cluster: {server: \"" + url() +
         "\", certificate-authority-data: " + base64_encode(ca_pem()) +
         "}}]\nusers: [{name: " + name + ", user: {token: " + token(user) +
         "}}]\ncontexts: [{name: " + name + ", context: {cluster: sim, user: " + name +
         "}}]\ncurrent-context: " + name + "\n";
}

void ApiServer::add_user(std::string name, std::string token, bool may_do_everything) {
  state_->core.users.add(token, {std::move(name), may_do_everything});
}

void ApiServer::inject(Fault fault) { state_->core.faults.inject(std::move(fault)); }
void ApiServer::clear_faults() { state_->core.faults.clear(); }

void ApiServer::drop_watches(bool cleanly) {
  state_->core.cut_watches = !cleanly;
  ++state_->core.watch_epoch;
  state_->core.store.wake();
}

void ApiServer::forget_history() { state_->core.store.forget_history(); }
std::vector<RequestRecord> ApiServer::requests() const { return state_->core.log.all(); }
void ApiServer::clear_requests() { state_->core.log.clear(); }

json::Value ApiServer::get(const ResourceType& type, std::string_view ns,
                           std::string_view name) const {
  const auto* resource = find(state_->core, type);
  return resource ? value_of(state_->core.store.find(*resource, key_of(*resource, ns, name)))
                  : json::Value();
}

json::Array ApiServer::list(const ResourceType& type) const {
  json::Array result;
  const auto* resource = find(state_->core, type);
  if (!resource) return result;
  const auto page =
      state_->core.store.list(*resource, "", "", 0, 0, [](const Stored&) { return true; });
  for (const auto& item : page.items) result.push_back(value_of(item));
  return result;
}

json::Value ApiServer::put(const ResourceType& type, json::Value object) {
  const auto* resource = find(state_->core, type);
  if (!resource) return nullptr;
  return put_directly(state_->core.store, *resource, std::move(object)).body;
}

bool ApiServer::remove(const ResourceType& type, std::string_view ns, std::string_view name) {
  const auto* resource = find(state_->core, type);
  if (!resource) return false;
  bool existed = false;
  state_->core.store.write(*resource, key_of(*resource, ns, name), [&](const json::Value& old) {
    existed = !old.is_null();
    return Decision{existed ? Decision::What::Remove : Decision::What::Nothing, {}};
  });
  return existed;
}

}  // namespace nobs::sim
