// Writes what each policy amounts to into its status: nodes, quarantined, budget, breaker, and whether it is enforced.
//
// Runs while leading, every few seconds; writes only what changed.
#pragma once

#include <map>
#include <string>

#include "operator/act/reconciler.h"
#include "operator/watch/cache.h"
#include "shared/kube/client.h"

namespace nobs::act {

struct PolicyView {
  api::Policy policy;
  int nodes = 0;
  int quarantined = 0;
  int limit = 0;  // of all pools together
  std::vector<std::string> would_quarantine;
  std::string breaker_reason;  // empty: closed
};

// The status object for a policy; pure. `now` is the transition time of a condition that changes.
json::Value policy_status(const PolicyView& view, const json::Value& current, WallTime now);

class PolicyStatus {
 public:
  PolicyStatus(kube::Client& client, watch::Cache& cache, const Reconciler& reconciler,
               Clock& clock, const log::Logger& logger);

  void run(const std::stop_token& stop);

 private:
  void write(const PolicyView& view, const std::stop_token& stop);

  kube::Client& client_;
  watch::Cache& cache_;
  const Reconciler& reconciler_;
  Clock& clock_;
  const log::Logger& logger_;
  std::map<std::string, json::Value> written_;
};

}  // namespace nobs::act
