// The agent's main loop: read, judge, hand over. One thread; nothing here waits for the API server.
#pragma once

#include <atomic>
#include <stop_token>

#include "agent/health/judge.h"
#include "agent/options.h"
#include "agent/publish/publisher.h"
#include "agent/serve/board.h"
#include "agent/serve/device_metrics.h"
#include "agent/sources/collector.h"
#include "agent/telemetry/telemetry.h"
#include "shared/log/logger.h"

namespace nobs {

class Cycle {
 public:
  Cycle(const AgentOptions& options, sources::Collector& collector, publish::Publisher& publisher,
        telemetry::Telemetry& telemetry, serve::DeviceMetrics& metrics, serve::Board& board,
        Clock& clock, const log::Logger& logger);

  void run(const std::stop_token& stop);

  // The last cycle ended less than a minute ago; thread-safe.
  bool alive() const;
  bool first_cycle_done() const { return cycles_ > 0; }

 private:
  void restore();
  void apply_acknowledgements(std::vector<health::Change>& changes);
  void tell(const std::vector<health::Change>& changes) const;

  const AgentOptions& options_;
  sources::Collector& collector_;
  publish::Publisher& publisher_;
  telemetry::Telemetry& telemetry_;
  serve::DeviceMetrics& metrics_;
  serve::Board& board_;
  Clock& clock_;
  const log::Logger& logger_;
  health::Memory memory_;
  bool restored_ = false;
  std::atomic<std::uint64_t> cycles_ = 0;
  std::atomic<std::int64_t> last_cycle_;  // steady nanoseconds
};

}  // namespace nobs
