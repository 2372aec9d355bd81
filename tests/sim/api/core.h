// What the parts of the embedded API share, and the way in for a request.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared/net/server.h"
#include "tests/sim/api/faults.h"
#include "tests/sim/api/store.h"

namespace nobs::sim {

struct User {
  std::string name;
  bool may_do_everything = false;
};

class Users {
 public:
  void add(const std::string& token, User user);
  std::optional<User> by_token(const std::string& token) const;
  std::optional<User> by_name(const std::string& name) const;
  std::string token_of(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, User> by_token_;
};

struct Core {
  explicit Core(ApiServer::Options options_)
      : options(std::move(options_)), store(options.history) {}

  const ApiServer::Options options;
  std::vector<Resource> resources;  // fixed before the first request
  Store store;
  Faults faults;
  RequestLog log;
  Users users;
  std::atomic<std::uint64_t> watch_epoch{0};  // a watch of an earlier one ends
  std::atomic<bool> cut_watches{false};       // … in the middle instead of cleanly
};

// A request as the API understands it.
struct Route {
  RequestRecord record;  // verb, resource, ns, name
  std::string path;
  Texts query;
  const Resource* resource = nullptr;  // null: a path that is no resource
  std::string subresource;

  std::string parameter(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
  }
  bool flag(const std::string& name) const {
    const auto text = parameter(name);
    return text == "true" || text == "1";
  }
};

net::Answer handle(Core& core, const net::Request& request);

// ---- parts of handle()
Route parse_route(const Core& core, const net::Request& request);
net::Answer json_answer(const Reply& reply);
net::Answer text_answer(int status, std::string text);
net::Answer list(Core& core, const Route& route, bool as_table);
net::Answer watch(Core& core, const Route& route, bool as_table, bool silent);
// TokenReview, SubjectAccessReview and their Self forms; nothing: another path.
std::optional<Reply> review(const Core& core, std::string_view path, const std::string& body,
                            const User& user);
// An object as this resource shows it: itself, or an event in the form of core/v1.
StoredPtr shown(const Resource& resource, const StoredPtr& object);

}  // namespace nobs::sim
