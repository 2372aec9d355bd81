// An API server that says what a test tells it, and remembers what it was asked.
//
//   ScriptedApi api([](const net::Request& request) { return answer(200, "{}"); });
//   kube::Client client(api.config(), "test", clock);
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/kube/client.h"
#include "shared/net/server.h"
#include "tests/support/eventually.h"

namespace nobs::runtime {

inline net::Answer answer(int status, std::string body = "{}") {
  return {status, {{{"Content-Type", "application/json"}}}, std::move(body)};
}

class ScriptedApi {
 public:
  explicit ScriptedApi(net::Handler script)
      : script_(std::move(script)),
        server_({.threads = 8, .max_body = 64U << 10}, [this](const auto& r) {
          {
            const std::lock_guard lock(mutex_);
            targets_.push_back(r.method + " " + r.target);
          }
          return script_(r);
        }) {
    if (!server_.start()) throw std::runtime_error("cannot listen");
  }
  ~ScriptedApi() { stop(); }

  // Ends what waits in until_over() too.
  void stop() {
    is_over_ = true;
    server_.stop();
  }
  // For answers that hang: until `done`, or until the server stops.
  void until_over(const std::function<bool()>& done) const {
    test::eventually(std::chrono::seconds(60), [&] { return is_over_ || done(); });
  }

  kube::Config config() const {
    kube::Config config;
    config.endpoint.host = "127.0.0.1";
    config.endpoint.port = server_.port();
    return config;
  }
  std::vector<std::string> targets() const {
    const std::lock_guard lock(mutex_);
    return targets_;
  }

 private:
  net::Handler script_;
  mutable std::mutex mutex_;
  std::vector<std::string> targets_;
  std::atomic<bool> is_over_ = false;
  net::Server server_;
};

}  // namespace nobs::runtime
