// Keeps somebody's picture of a resource current: lists in pages, then watches, for ever, whatever the server does.
//
// For the operator's caches and the agent's view of its own node. `run` blocks until stop; give it a thread. Handlers are
// called on that thread, one at a time, and must not throw.
//
//   Reflector devices(client, clock, random, logger, metrics, {.type = api::kNeuronDevices}, handlers);
//   std::jthread thread([&](std::stop_token stop) { devices.run(stop); });
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"
#include "shared/kube/client.h"
#include "shared/log/logger.h"
#include "shared/metrics/registry.h"

namespace nobs::runtime {

struct ReflectorOptions {
  ResourceType type;
  std::string ns, field_selector, label_selector;
  int page_size = 500;
  std::chrono::milliseconds silence{90'000};
  std::chrono::seconds watch_timeout{300};  // drawn from [this, 2 × this]
  Backoff::Options backoff{};
};

struct ReflectorHandlers {
  std::function<void()> begin_list;                // what is not named until end_list is gone
  std::function<void(json::Value object)> upsert;  // from a page or an event
  std::function<void(json::Value object)> remove;  // a DELETED event's last state
  std::function<void()> end_list;
};

// Families shared by all reflectors of a program:
// neuron_observer_watch_{lists_total,events_total,restarts_total{resource,reason},last_event_timestamp_seconds,synced}.
struct ReflectorMetrics {
  explicit ReflectorMetrics(metrics::Registry& registry);
  metrics::Counter& lists;
  metrics::Counter& events;
  metrics::Counter& restarts;
  metrics::Gauge& last_event;
  metrics::Gauge& synced;
};

class Reflector {
 public:
  Reflector(kube::Client& client, Clock& clock, Random random, const log::Logger& logger,
            ReflectorMetrics& metrics, ReflectorOptions options, ReflectorHandlers handlers);

  void run(const std::stop_token& stop);
  // Listed whole at least once.
  bool synced() const { return synced_; }

 private:
  kube::Client& client_;
  Clock& clock_;
  Random random_;
  const log::Logger& logger_;
  ReflectorMetrics& metrics_;
  ReflectorOptions options_;
  ReflectorHandlers handlers_;
  std::atomic<bool> synced_ = false;
};

}  // namespace nobs::runtime
