// Keeps the API in line with the newest report: NeuronDevices, the Node condition, Events. Level-triggered: what it
// missed while the API was away does not matter, only the newest state does.
//
// One thread runs it; `offer` and `restored` are called from the main loop. Thread-safe.
//
//   Publisher publisher(client, view, clock, random, logger, registry, {.node = "node-a"});
//   publisher.offer(report, changes);          // after each cycle
//   if (auto earlier = publisher.take_restored()) absorb(memory, restore(*earlier));
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/health/judge.h"
#include "agent/publish/desired.h"
#include "agent/publish/own_view.h"
#include "shared/base/backoff.h"
#include "shared/metrics/registry.h"

namespace nobs::publish {

struct Acknowledgement {
  int device = 0;
  std::int64_t generation = 0;
};

class Publisher {
 public:
  Publisher(kube::Client& client, OwnView& view, Clock& clock, Random random,
            const log::Logger& logger, metrics::Registry& registry, std::string node);

  void run(const std::stop_token& stop);

  void offer(std::shared_ptr<const Report> report, const std::vector<health::Change>& changes);
  // Once for each node UID: what is published for it already; the next report must have absorbed it.
  std::optional<std::vector<api::NeuronDevice>> take_restored();
  // Annotations that people set on our devices.
  std::vector<Acknowledgement> acknowledgements() const;
  // Everything of the newest report has been written at least once.
  bool published_once() const;

 private:
  Result<void> reconcile(const std::stop_token& stop);
  Result<void> publish_device(const api::NeuronDevice& desired, const OwnState& state,
                              const std::stop_token& stop);
  Result<void> create_device(const api::NeuronDevice& desired, const std::stop_token& stop);
  Result<void> write_status(const api::NeuronDevice& desired, const std::stop_token& stop);
  void publish_events(const OwnState& state, const std::stop_token& stop);
  void wake();

  kube::Client& client_;
  OwnView& view_;
  Clock& clock_;
  const log::Logger& logger_;
  std::string node_;
  Backoff backoff_;
  metrics::Counter& writes_;
  metrics::Counter& failures_;
  metrics::Gauge& pending_;

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  bool dirty_ = false;
  std::shared_ptr<const Report> report_;
  std::deque<health::Change> changes_;  // bounded: the oldest are dropped and counted
  std::string restored_uid_;            // of the node whose devices were handed out
  std::optional<std::vector<api::NeuronDevice>> restored_;
  bool published_once_ = false;
  std::map<std::string, SteadyTime> slow_written_;   // by device name; publisher's thread only
  std::map<std::string, SteadyTime> event_written_;  // by device and reason
};

}  // namespace nobs::publish
