// The Kubernetes API as far as we use it, with typed errors.
//
// For publishers, reflectors, leader election and actors. Thread-safe. Every call is bounded: 30 s in all (a page of a list 60 s), and at once
// when its stop token is requested. Names and values in paths and queries are encoded here. Answers are untrusted: what
// is no JSON, or no object, is an Error.
//
//   auto node = client.get(api::kNodes, "", "node-a", stop);
//   client.patch(api::kNodes, "", "node-a", {.kind = PatchKind::Json, .body = operations}, stop);
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"
#include "shared/base/resource_type.h"
#include "shared/base/result.h"
#include "shared/json/splitter.h"
#include "shared/json/value.h"
#include "shared/kube/config.h"

namespace nobs::kube {

enum class PatchKind { Json, Merge, Strategic, Apply };

struct Patch {
  PatchKind kind = PatchKind::Merge;
  json::Value body;
  std::string subresource;    // "status", or empty
  std::string field_manager;  // empty: the client's user agent
  bool force = false;         // Apply only: take fields over
};

struct ListOptions {
  std::string field_selector, label_selector;
  int limit = 500;  // as client-go and kube-rs
  std::string continue_token;
};

struct WatchOptions {
  std::string field_selector, label_selector;
  std::string resource_version;
  // WatchList: every object as Added first, then a Bookmark annotated k8s.io/initial-events-end, then what happens.
  // Servers that do not serve it answer Rejected: list in pages instead.
  bool initial_events = false;
  std::chrono::seconds timeout{
      300};  // asked of the server; the reflector draws it from 5 to 10 minutes
  std::chrono::milliseconds silence{
      90'000};  // bookmarks come each minute: longer silence is a dead watch
};

enum class WatchEventType { Added, Modified, Deleted, Bookmark };

// One request that ended: for metrics. `code` is the HTTP status, or 0 when there was no answer.
struct Finished {
  std::string_view verb, resource;
  int code = 0;
  std::chrono::nanoseconds took{};
};

class Client {
 public:
  using OnFinished = std::function<void(const Finished&)>;

  Client(Config config, std::string user_agent, Clock& clock, OnFinished on_finished = {});
  ~Client();

  Result<json::Value> get(const ResourceType& type, std::string_view ns, std::string_view name,
                          const std::stop_token& stop);
  Result<json::Value> create(const ResourceType& type, std::string_view ns, const json::Value& body,
                             const std::stop_token& stop);
  // PUT: fails with Conflict when body.metadata.resourceVersion is not the newest.
  Result<json::Value> replace(const ResourceType& type, std::string_view ns, std::string_view name,
                              const json::Value& body, const std::stop_token& stop);
  // A JSON patch whose `test` fails is a Conflict (the server answers 422).
  Result<json::Value> patch(const ResourceType& type, std::string_view ns, std::string_view name,
                            const Patch& patch, const std::stop_token& stop);
  // With a uid: only that very object (else Conflict).
  Result<void> remove(const ResourceType& type, std::string_view ns, std::string_view name,
                      std::string_view uid, const std::stop_token& stop);

  // One page, item by item; on_item false ends early with Stopped.
  Result<json::ListEnd> list(const ResourceType& type, std::string_view ns,
                             const ListOptions& options, const std::stop_token& stop,
                             const std::function<bool(json::Value)>& on_item);
  // All pages of a short list.
  Result<json::Array> list_all(const ResourceType& type, std::string_view ns, ListOptions options,
                               const std::stop_token& stop);

  // Until the server ends it (success), on_event returns false (Stopped), or it fails; an ERROR event becomes an Error
  // (410: Gone). A bookmark's object has only metadata.resourceVersion.
  Result<void> watch(const ResourceType& type, std::string_view ns, const WatchOptions& options,
                     const std::stop_token& stop,
                     const std::function<bool(WatchEventType, json::Value)>& on_event);

  const std::string& default_namespace() const;
  const std::string& user_agent() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The Error for an answer that is no success: from its Status object where there is one. `retry_after` in seconds.
Error error_from_status(int http_status, std::string_view body, const std::string* retry_after);

// Versions are opaque, but those of a real server are numbers that grow: an older event must not undo what a write was
// answered with. False where that cannot be told.
bool is_older_version(std::string_view candidate, std::string_view known);

}  // namespace nobs::kube
