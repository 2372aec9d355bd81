// Takes nodes from the work queue, plans, and does what the plan says in one request. Level-triggered: any event, or
// none, leads to the same end.
//
// Runs while leading. One worker decides at a time, so that the budget is asked and used in one step.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "operator/decide/patch.h"
#include "operator/decide/plan.h"
#include "operator/watch/cache.h"
#include "shared/kube/client.h"
#include "shared/log/logger.h"
#include "shared/metrics/registry.h"
#include "shared/runtime/work_queue.h"

namespace nobs::act {

class Reconciler {
 public:
  // `may_act`: still the leader, for certain. Asked right before each write.
  Reconciler(kube::Client& client, watch::Cache& cache, runtime::WorkQueue& queue, Clock& clock,
             const log::Logger& logger, metrics::Registry& registry, std::string identity,
             std::function<bool()> may_act);

  // A new term: what was begun is read from the annotations, everything is looked at.
  void begin_term();
  // Works until stop; begins only when the cache is synced.
  void run(const std::stop_token& stop);

  // What a person asks about a node: the newest decision. By node name; nothing: not looked at yet.
  std::map<std::string, decide::Decision> decisions() const;

 private:
  bool work(const std::string& name, const std::stop_token& stop);
  void ask_budget(decide::NodeView& view, WallTime now, std::optional<WallTime>* again_at);
  Result<void> carry_out(const decide::NodeView& view, const decide::Decision& decision,
                         const std::stop_token& stop);
  void tell(const decide::NodeView& view, const decide::Decision& decision,
            const std::stop_token& stop);

  kube::Client& client_;
  watch::Cache& cache_;
  runtime::WorkQueue& queue_;
  Clock& clock_;
  const log::Logger& logger_;
  std::string identity_;
  std::function<bool()> may_act_;
  metrics::Counter& actions_;
  metrics::Counter& conflicts_;
  metrics::Counter& failures_;
  metrics::Histogram& delay_;
  decide::History begun_;  // worker's thread only
  mutable std::mutex mutex_;
  std::map<std::string, decide::Decision> decisions_;
};

}  // namespace nobs::act
