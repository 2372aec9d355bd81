#include "agent/cycle.h"

#include <algorithm>

namespace nobs {
namespace {

// How long the first judgement waits for what earlier agents published, so that old faults are not told as new ones.
constexpr auto kRestoreWait = std::chrono::seconds(3);
// Between the two readings that must agree: long enough for a driver to finish what it was writing.
constexpr auto kRecheckAfter = std::chrono::milliseconds(10);
constexpr auto kStuckAfter = std::chrono::seconds(60);

log::Fields fields_of(const health::Change& change) {
  return {{"device", std::to_string(change.device)},
          {"class", std::string(to_string(change.fault.fault))},
          {"serial", change.fault.serial},
          {"generation", std::to_string(change.fault.generation)},
          {"count", std::to_string(change.fault.count)},
          {"detail", change.fault.message}};
}

}  // namespace

Cycle::Cycle(const AgentOptions& options, sources::Collector& collector,
             publish::Publisher& publisher, telemetry::Telemetry& telemetry,
             serve::DeviceMetrics& metrics, serve::Board& board, Clock& clock,
             const log::Logger& logger)
    : options_(options),
      collector_(collector),
      publisher_(publisher),
      telemetry_(telemetry),
      metrics_(metrics),
      board_(board),
      clock_(clock),
      logger_(logger),
      last_cycle_(clock.steady().time_since_epoch().count()) {}

bool Cycle::alive() const {
  const auto last = SteadyTime(SteadyTime::duration(last_cycle_.load()));
  return clock_.steady() - last < kStuckAfter;
}

void Cycle::restore() {
  auto earlier = publisher_.take_restored();
  if (!earlier) return;
  health::absorb(memory_, health::restore(*earlier));
  restored_ = true;
  logger_.info("published state restored", {{"devices", std::to_string(earlier->size())},
                                            {"generation", std::to_string(memory_.generation)}});
}

void Cycle::apply_acknowledgements(std::vector<health::Change>& changes) {
  for (const auto& said : publisher_.acknowledgements()) {
    auto cleared = health::acknowledge(memory_, said.device, said.generation);
    changes.insert(changes.end(), cleared.begin(), cleared.end());
  }
}

void Cycle::tell(const std::vector<health::Change>& changes) const {
  using Kind = health::Change::Kind;
  for (const auto& change : changes) {
    switch (change.kind) {
      case Kind::FaultBegan:
        logger_.warn("fault began", fields_of(change));
        break;
      case Kind::FaultRepeated:
        logger_.warn("fault repeated", fields_of(change));
        break;
      case Kind::FaultCleared: {
        auto fields = fields_of(change);
        fields.emplace_back("cleared_by", change.cleared_by);
        logger_.info("fault cleared", fields);
        break;
      }
      case Kind::HealthChanged:
        logger_.info("device health changed", {{"device", std::to_string(change.device)},
                                               {"from", std::string(to_lower_string(change.from))},
                                               {"to", std::string(to_lower_string(change.to))}});
        break;
    }
  }
}

void Cycle::run(const std::stop_token& stop) {
  const auto started = clock_.steady();
  while (!stop.stop_requested()) {
    const auto begin = clock_.steady();
    const auto reading = collector_.collect(stop);
    if (stop.stop_requested()) return;
    telemetry_.take(reading);
    restore();
    bool recheck = false;
    if (restored_ || begin - started >= kRestoreWait) {
      std::vector<health::Change> changes;
      apply_acknowledgements(changes);
      auto judged = health::judge(std::move(memory_), reading, options_.health);
      memory_ = std::move(judged.memory);
      recheck = judged.recheck;
      changes.insert(changes.end(), judged.changes.begin(), judged.changes.end());
      tell(changes);
      metrics_.show(memory_, reading, changes);
      const auto report = std::make_shared<const publish::Report>(
          publish::Report{reading.version, reading.at, memory_, reading, restored_});
      board_.post(report, changes);
      publisher_.offer(report, changes);
    }
    last_cycle_ = clock_.steady().time_since_epoch().count();
    ++cycles_;
    const auto spent = clock_.steady() - begin;
    const std::chrono::nanoseconds wait =
        recheck ? std::chrono::nanoseconds(kRecheckAfter)
                : std::max<std::chrono::nanoseconds>(options_.interval - spent,
                                                     std::chrono::milliseconds(1));
    collector_.wait_for_event(std::chrono::duration_cast<std::chrono::milliseconds>(wait), stop);
  }
}

}  // namespace nobs
