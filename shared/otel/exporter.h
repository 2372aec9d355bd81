// Pushes metrics to an OpenTelemetry collector over OTLP/HTTP, and never lets it disturb anybody.
//
// For main of both programs: a thread of its own calls run(). Every interval it asks `collect` for the families, encodes
// and compresses them, and queues the batches: at most 8 of them or 8 MiB, the oldest is dropped and counted. What the
// collector cannot take now (429, 502, 503, 504, no answer) is sent again with backoff, not before its Retry-After; all
// else that fails is dropped and counted. With cumulative temporality a new collection replaces what still waits: it
// says the same and more; deltas are kept, each counts. Redirects are not followed.
//
// When stopped it pushes a last time, for at most 2 s in all and only to a collector that was answering.
//
//   otel::Exporter exporter(options, [&] { return registry.collect(); }, clock, logger, registry);
//   std::jthread thread([&](const std::stop_token& stop) { exporter.run(stop); });
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"
#include "shared/log/logger.h"
#include "shared/metrics/family.h"
#include "shared/metrics/registry.h"
#include "shared/otel/options.h"

namespace nobs::otel {

class Exporter {
 public:
  using Collect = std::function<std::vector<metrics::Family>()>;  // called on the thread of run()

  // Registers its own metrics, neuron_observer_otlp_*. What is given as a reference outlives it.
  Exporter(Options options, Collect collect, Clock& clock, const log::Logger& logger,
           metrics::Registry& registry, Random random = system_random());
  ~Exporter();

  // Until asked to stop; at once when the options say that nothing is pushed. Once only.
  void run(const std::stop_token& stop);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::otel
