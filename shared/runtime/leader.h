// One of several replicas acts: leader election over a coordination.k8s.io Lease.
//
// For the operator. Does not fence: it promises only that a leader that cannot renew stops acting before its lease ends,
// as seen by its own steady clock (wall clocks are never compared). When somebody deletes the Lease, a replica that has
// just started may lead up to retry_period before the old leader notices. `run` blocks; give it a thread.
//
//   LeaderElector elector(client, clock, random, logger, {.ns = "neuron-observer", .name = "…", .identity = pod}, metrics);
//   elector.run(stop, [&](std::stop_token leading) { act_until(leading); });
//   // before each write: if (!elector.may_act()) return;
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"
#include "shared/kube/client.h"
#include "shared/log/logger.h"
#include "shared/metrics/registry.h"

namespace nobs::runtime {

struct LeaderOptions {
  std::string ns, name, identity;
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};  // must be shorter than the lease
  std::chrono::milliseconds retry_period{2'000};     // must be shorter than the deadline
};

class LeaderElector {
 public:
  // Errors: durations that do not fit each other.
  static Result<void> check(const LeaderOptions& options);

  LeaderElector(kube::Client& client, Clock& clock, Random random, const log::Logger& logger,
                LeaderOptions options, metrics::Registry& registry);

  // Campaigns for ever. While leading, `lead` runs on a thread of its own; its token is requested when leadership is
  // lost or stop is requested, and run() waits for it before it campaigns again. At stop the lease is given back, as it
  // is when `lead` returns by itself. What `lead` throws, run() throws.
  void run(const std::stop_token& stop, const std::function<void(const std::stop_token&)>& lead);

  bool is_leader() const { return leading_; }
  // True only while the last renewal is younger than the renew deadline.
  bool may_act() const;
  // leaseTransitions of our term.
  std::int64_t term() const { return term_; }

 private:
  enum class Outcome { Holding, NotHolding, Failed };
  struct Known;

  Outcome attempt(Known& known, bool holding, std::chrono::nanoseconds limit,
                  const std::stop_token& stop);
  Outcome hold(Known& known, bool holding, const std::stop_token& stop);
  void serve_term(Known& known, const std::stop_token& stop,
                  const std::function<void(const std::stop_token&)>& lead);
  void release(Known& known);
  void failed(Known& known, const Error& error);

  kube::Client& client_;
  Clock& clock_;
  Random random_;
  const log::Logger& logger_;
  LeaderOptions options_;
  metrics::Gauge& leader_metric_;
  std::atomic<bool> leading_ = false;
  std::atomic<std::int64_t> act_until_ = 0;  // steady nanoseconds
  std::atomic<std::int64_t> term_ = 0;
};

}  // namespace nobs::runtime
