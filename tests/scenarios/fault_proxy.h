// Stands between our programs and the API, in both backends alike: sees every request, and breaks what it is told to.
//
// Thread-safe. Speaks TLS with a certificate of its own; tokens pass through.
//
//   FaultProxy proxy(backend.config("admin"), directory);
//   proxy.inject({.user_agent = "operator", .method = "PATCH", .path = "/nodes/", .what = Fault::LoseAnswer});
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared/kube/config.h"
#include "shared/net/client.h"
#include "shared/net/server.h"

namespace nobs::test {

struct Fault {
  enum What {
    Refuse,      // the connection is closed, the API sees nothing
    LoseAnswer,  // the API does it, the answer never arrives
    Status,      // `status` is answered, the API sees nothing
    Expire,      // a watch: 410 as an ERROR event; other requests: status 410
    Silence,     // a watch: opens and says nothing, no bookmark either
    Delay,       // `delay`, then as usual
  } what = Refuse;
  std::string user_agent, method, path;  // parts; empty matches all
  bool watch_only = false;
  int status = 500;
  int retry_after = 0;
  std::chrono::milliseconds delay{0};
  int count = 1;  // -1: until cleared
};

struct Seen {
  std::string user_agent, method, target;
};

class FaultProxy {
 public:
  FaultProxy(const kube::Config& upstream, const std::string& directory);
  ~FaultProxy();

  // For our programs: the proxy's address and certificate, the upstream's token.
  std::string kubeconfig() const { return kubeconfig_; }

  void inject(Fault fault);
  void clear();
  // As if the API server were gone: every connection is closed at once, for one user agent or for all (empty).
  void cut(const std::string& user_agent);
  void restore();
  // Closes running watches.
  void drop_watches() { ++watch_generation_; }
  // Called before a request goes on and after it was answered (which its sender does not know yet). One call at a
  // time; when this returns, the callback that was there before runs no more.
  void on_request(std::function<void(const Seen&, bool answered)> callback);
  std::vector<Seen> seen() const;
  void forget_seen();

 private:
  net::Answer handle(const net::Request& request);
  void call(const Seen& seen, bool answered);
  net::Answer forward(const net::Request& request, bool is_watch);
  std::optional<Fault> take_fault(const Seen& seen, bool is_watch);

  std::unique_ptr<net::Client> upstream_;
  std::string prefix_, token_, kubeconfig_;
  std::unique_ptr<net::Server> server_;
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::vector<Seen> seen_;
  std::optional<std::string> cut_;
  std::mutex callback_mutex_;
  std::function<void(const Seen&, bool)> callback_;
  std::atomic<int> watch_generation_ = 0;
  std::stop_source stop_;
};

}  // namespace nobs::test
