// The agent's telemetry: takes each reading, gives the families of the export configuration.
//
// `take` is for the main loop, `families` for scrapes and pushes, `use` for the watcher of the configuration; thread-safe.
// The fabric and the system are read by sources of their own, at the pace of metrics.
//
//   Telemetry telemetry({.sysfs = "/sys", .proc = "/host-proc"}, collector);
//   telemetry.use(parsed.exports);
//   telemetry.take(reading);
//   for (const auto& family : telemetry.families()) append_text(out, family, format);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "agent/sources/collector.h"
#include "agent/sources/periodic.h"
#include "agent/telemetry/families.h"

namespace nobs::telemetry {

struct TelemetryOptions {
  std::string sysfs = "/sys", proc = "/proc";
  std::chrono::nanoseconds interval = std::chrono::seconds(5);
  std::chrono::nanoseconds deadline = std::chrono::seconds(2);
  std::int64_t logical_core_size = 0;  // 0: as the device family has it by default
  std::function<NodeFacts()> facts;    // called for each scrape; may be empty
};

class Telemetry {
 public:
  Telemetry(TelemetryOptions options, sources::Collector& collector);

  void use(Exports exports);
  void take(const sources::NodeReading& reading);
  std::vector<metrics::Family> families() const;

 private:
  using Names = std::set<std::string, std::less<>>;

  TelemetryOptions options_;
  sources::Collector& collector_;
  // What the fabric source's thread reads, which may outlive us.
  struct Wanted {
    std::mutex mutex;
    Names efa;
  };
  std::shared_ptr<Wanted> wanted_ = std::make_shared<Wanted>();
  sources::Periodic<sources::FabricReading> fabric_;
  sources::Periodic<sources::SystemReading> system_;

  mutable std::mutex mutex_;
  Exports exports_;
  Meters meters_;
  sources::NodeReading reading_;
  sources::UltraServer ultraserver_;
  std::chrono::steady_clock::time_point fabric_at_{}, system_at_{};
};

}  // namespace nobs::telemetry
