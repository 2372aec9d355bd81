// Who we are, as of now: a fixed token, a token file that rotates, or what a plugin gave until it expires.
//
// For client.cpp. Thread-safe; one thread at a time reads or runs, the others wait for it or for their stop.
//
//   auto identity = credentials.get(stop);
//   ... the server answered 401 ...
//   auto next = credentials.renew(*identity, stop);   // the same again: there is nothing better
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/kube/config.h"
#include "shared/kube/exec_plugin.h"

namespace nobs::kube {

struct Identity {
  std::string token;                     // empty: none is sent
  std::string certificate_pem, key_pem;  // from a plugin; empty: those of the Config
  bool operator==(const Identity&) const = default;
};

class Credentials {
 public:
  Credentials(const Config& config, Clock& clock);

  Result<Identity> get(const std::stop_token& stop);
  // After a 401 for `refused`: looks again, unless another thread has already found something else.
  Result<Identity> renew(const Identity& refused, const std::stop_token& stop);

 private:
  bool is_fresh() const;
  Result<Identity> load(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  Result<ExecCredential> fetch(const std::stop_token& stop) const;

  const std::string fixed_token_, token_file_;
  const ExecPlugin exec_;
  Clock& clock_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool loading_ = false;
  std::optional<Identity> current_;
  SteadyTime checked_{};
  std::optional<WallTime> expires_;
};

}  // namespace nobs::kube
