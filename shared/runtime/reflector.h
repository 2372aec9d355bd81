// Keeps somebody's picture of a resource current: lists, then watches, for ever, whatever the server does.
//
// For the operator's caches and the agent's view of its own node. `run` blocks until stop; give it a thread. Handlers are
// called on that thread, one at a time, and must not throw. What was known stays known until a list has arrived whole.
// Lists are one compressed stream where the server offers it (WatchList), else pages.
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
#include "shared/runtime/watch_state.h"

namespace nobs::runtime {

struct ReflectorOptions {
  ResourceType type;
  std::string ns, field_selector, label_selector;
  bool stream = true;  // false: always pages
  int page_size = 500;
  std::chrono::milliseconds silence{90'000};
  std::chrono::seconds watch_timeout{300};  // drawn from [this, 2 × this]
  std::chrono::milliseconds start_jitter{500};
  Backoff::Options backoff{};
};

struct ReflectorHandlers {
  // What is not named until end_list is gone. A list that fails on the way begins again, without an end_list.
  std::function<void()> begin_list;
  std::function<void(json::Value object)> upsert;  // from a page or an event
  std::function<void(json::Value object)> remove;  // a DELETED event's last state
  std::function<void()> end_list;
};

// Families shared by all reflectors of a program:
// neuron_observer_watch_{lists_total,events_total,restarts_total{resource,reason},last_event_timestamp_seconds,synced}.
// The timestamp moves with pages and bookmarks too: its age is how stale the picture may be.
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
  struct Attempt {
    WatchInput input;
    Error error;  // why, when the input is no progress
  };
  Attempt list_stream(const std::stop_token& stop);
  Attempt list_page(const std::string& continue_token, const std::stop_token& stop);
  Attempt watch(WatchState& state, Backoff& backoff, const std::stop_token& stop);
  void heard();
  void announce();

  kube::Client& client_;
  Clock& clock_;
  Random random_;
  const log::Logger& logger_;
  ReflectorMetrics& metrics_;
  ReflectorOptions options_;
  ReflectorHandlers handlers_;
  const std::string resource_;
  bool stream_;  // the server has not refused it so far
  std::atomic<bool> synced_ = false;
};

}  // namespace nobs::runtime
