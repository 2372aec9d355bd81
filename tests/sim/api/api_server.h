// An embedded Kubernetes API server over TLS on 127.0.0.1, with its state in memory and faults on demand.
//
// For tests of whatever talks to the API, for scenarios, the demo and the benchmarks. It is a verified fake: the request
// and answer pairs of tests/unit/sim/api/requests.json hold for it and for a real kube-apiserver (unit_sim_api_real), and
// a difference is a bug of this one. Thread-safe.
//
// Serves: nodes, namespaces, pods (with eviction), configmaps, leases, events, the CRDs it was given and token and access
// reviews; get, list, watch, create, update, patch, delete; discovery, tables and OpenAPI as far as kubectl needs them.
// Not done: CEL rules other than those that compare with oldSelf for immutability (schema.h), garbage collection,
// admission, gzip, protobuf, conflicts of server-side apply (an apply patch is merged), quotas, priorities.
//
//   sim::ApiServer server({.crd_directory = CRDS});
//   if (auto started = server.start(); !started) return started.error();
//   auto config = kube::parse_kubeconfig(server.kubeconfig("admin"), "", "");
//   server.inject({.verb = "patch", .resource = "nodes", .takes_effect = true, .answer = sim::Broken::Closed});
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/resource_type.h"
#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::sim {

enum class Broken {
  No,
  Closed,  // the connection is closed without an answer
  Half,  // half of the answer's body, then the connection is closed (for a watch: after its first piece)
  Silent,  // watches only: opens, then neither events nor bookmarks until timeoutSeconds
};

// What happens to requests that match. Each request takes the first fault that matches and is not used up.
struct Fault {
  // Empty matches everything. verb: get, list, watch, create, update, patch, delete, deletecollection. resource: the
  // plural, "neurondevices" or "neurondevices/status". user_agent: a part of the header.
  std::string verb, resource, name, user_agent;
  int skip = 0;   // as many matching requests pass first
  int count = 1;  // then as many are hit; -1: all

  std::chrono::milliseconds latency{0};  // before anything else
  bool takes_effect =
      false;            // true: the request is done first, and only its answer is lost or replaced
  int status = 0;       // answered instead: 409, 410, 429, 500, 503, …
  int retry_after = 0;  // seconds, for 429 and 503; 0: no such header
  Broken answer = Broken::No;
};

struct RequestRecord {
  std::string verb;  // as in Fault; for paths that are no resource the HTTP method in lower case
  std::string resource;  // as in Fault; empty for paths that are no resource
  std::string ns, name;
  std::string target;  // path and query
  std::string user, user_agent, content_type;
  size_t body_bytes = 0;
  int code =
      0;  // 0: no answer. A watch is recorded when it starts, everything else when it is answered.
};

class ApiServer {
 public:
  struct Options {
    std::string crd_directory;  // every *.yaml in it is a CustomResourceDefinition; empty: none
    int port = 0;               // 0: any free one
    // For those who ask for bookmarks. The real server sends one a minute, and one before the timeout, as this does too.
    std::chrono::milliseconds bookmark_interval{1'000};
    size_t history = 10'000;  // changes kept of each resource: older versions are 410
    bool watch_list =
        true;  // false: sendInitialEvents is refused with 422, as by servers before 1.32
  };

  explicit ApiServer(Options options);
  ~ApiServer();

  // Errors: a CRD that cannot be read, the port is in use.
  Result<void> start();
  void stop();  // called by the destructor too

  int port() const;
  std::string url() const;  // https://127.0.0.1:<port>
  // People: admin and alice may do everything, nobody is known and may do nothing. The text of a kubeconfig with the
  // certificate authority inline; and the bearer token alone (empty: no such person).
  std::string kubeconfig(std::string_view user) const;
  std::string token(std::string_view user) const;
  std::string ca_pem() const;
  // Lets one more person in, by token: a service account of the agent, say.
  void add_user(std::string name, std::string token, bool may_do_everything);

  void inject(Fault fault);
  void clear_faults();
  // Ends the watches that run now: cleanly, as at their timeout, or by closing the connection in the middle.
  void drop_watches(bool cleanly = true);
  // Forgets all history, as a compaction: versions and continue tokens from before are 410.
  void forget_history();

  std::vector<RequestRecord> requests() const;
  void clear_requests();

  // Direct access for tests, past rights, faults, validation and the request log; watchers see the writes.
  json::Value get(const ResourceType& type, std::string_view ns, std::string_view name) const;
  json::Array list(const ResourceType& type) const;
  // Creates or replaces the whole object, status included; metadata.name (and namespace) must be set. Fills in uid,
  // creationTimestamp and resourceVersion. Answers what was stored, null when the resource is not served.
  json::Value put(const ResourceType& type, json::Value object);
  bool remove(const ResourceType& type, std::string_view ns, std::string_view name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::sim
