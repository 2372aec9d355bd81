// The agent's heartbeat Lease: while it is renewed, what this node's devices say is believed.
//
// One thread runs it. It renews only while `alive` says that the judge still works: an agent that hangs goes silent.
#pragma once

#include <functional>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"
#include "shared/kube/client.h"
#include "shared/log/logger.h"
#include "shared/metrics/registry.h"

namespace nobs::publish {

struct HeartbeatOptions {
  std::string ns;
  std::string node;
  std::chrono::nanoseconds interval = std::chrono::seconds(30);
};

class Heartbeat {
 public:
  Heartbeat(kube::Client& client, Clock& clock, Random random, const log::Logger& logger,
            metrics::Registry& registry, HeartbeatOptions options);

  // `node_uid` empty or `alive` false: not renewed, looked at again after a second.
  void run(const std::stop_token& stop, const std::function<std::string()>& node_uid,
           const std::function<bool()>& alive);

 private:
  Result<void> renew(const std::string& node_uid, const std::stop_token& stop);

  kube::Client& client_;
  Clock& clock_;
  Random random_;
  const log::Logger& logger_;
  HeartbeatOptions options_;
  metrics::Gauge& renewed_;
  metrics::Counter& failures_;
};

}  // namespace nobs::publish
