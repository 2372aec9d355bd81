// Who may read the API: nobody has to say who they are on a loopback address or a unix socket; elsewhere a bearer token is
// checked by the API server.
//
// TokenReview says whose the token is, SubjectAccessReview whether they may `get` the path (RBAC nonResourceURLs). Each
// verdict is kept for a minute, under a hash: tokens are not. At most two requests ask the API server at the same time,
// for at most five seconds each, so that a slow API server never keeps the probes waiting; others get 503. Without an
// answer nobody gets in. Thread-safe.
//
//   Authorization authorization(reviews_of(client), clock, stop);
//   handler = authorization.guard(std::move(handler));
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/resource_type.h"
#include "shared/json/value.h"
#include "shared/kube/client.h"
#include "shared/net/digest.h"
#include "shared/net/server.h"

namespace nobs::serve {

// Creates a review object and gives back the server's answer.
using Review = std::function<Result<json::Value>(const ResourceType&, const json::Value& body,
                                                 const std::stop_token&)>;
Review reviews_of(kube::Client& client);

class Authorization {
 public:
  static constexpr size_t kMaxCached = 256;
  static constexpr int kMaxAsking = 2;

  Authorization(Review review, Clock& clock, std::stop_token stop);

  // Guards all of `handler`.
  net::Handler guard(net::Handler handler);

 private:
  struct Verdict {
    int status = 200;  // or 401, 403, 503
    std::string detail;
  };
  struct Cached {
    Verdict verdict;
    SteadyTime until;
  };

  Verdict check(const std::string& token, const std::string& path);
  Verdict ask(const std::string& token, const std::string& path) const;
  void keep(const net::Digest& key, const Verdict& verdict);

  const Review review_;
  Clock& clock_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::map<net::Digest, Cached> cache_;
  int asking_ = 0;
};

// For a loopback address, where no token is asked for: a page in a browser may reach us there under a name of its own
// (DNS rebinding). Hosts other than localhost and loopback addresses get 421.
net::Handler only_local_hosts(net::Handler handler);

bool is_loopback(std::string_view address);  // numeric

}  // namespace nobs::serve
