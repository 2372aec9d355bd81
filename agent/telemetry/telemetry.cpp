#include "agent/telemetry/telemetry.h"

#include <algorithm>

namespace nobs::telemetry {

Telemetry::Telemetry(TelemetryOptions options, sources::Collector& collector)
    : options_(std::move(options)),
      collector_(collector),
      fabric_(options_.interval, options_.deadline,
              [root = std::make_shared<sources::Root>(options_.sysfs), wanted = wanted_] {
                Names names;
                {
                  const std::scoped_lock lock(wanted->mutex);
                  names = wanted->efa;
                }
                return sources::read_fabric(*root, names);
              }),
      system_(options_.interval, options_.deadline,
              [root = std::make_shared<sources::Root>(options_.proc)] {
                return sources::read_system(*root);
              }) {
  if (options_.logical_core_size > 0)
    meters_.set_logical_core_size(static_cast<int>(options_.logical_core_size));
}

void Telemetry::use(Exports exports) {
  collector_.want(std::make_shared<const Names>(exports.driver_keys()));
  {
    const std::scoped_lock lock(wanted_->mutex);
    wanted_->efa = exports.efa_counters();
  }
  const std::scoped_lock lock(mutex_);
  exports_ = std::move(exports);
}

void Telemetry::take(const sources::NodeReading& reading) {
  const auto fabric = fabric_.latest();
  const auto system = system_.latest();
  const std::scoped_lock lock(mutex_);
  meters_.take(reading);
  reading_ = reading;
  if (fabric.value && fabric.read_at != fabric_at_) {
    fabric_at_ = fabric.read_at;
    ultraserver_ = fabric.value->ultraserver;
    meters_.take(*fabric.value);
  }
  if (system.value && system.read_at != system_at_) {
    system_at_ = system.read_at;
    meters_.take(*system.value);
  }
}

std::vector<metrics::Family> Telemetry::families() const {
  const NodeFacts facts = options_.facts ? options_.facts() : NodeFacts{};
  const std::scoped_lock lock(mutex_);
  auto families = families_of(meters_, exports_);
  auto info = info_families(reading_, ultraserver_, facts, meters_, exports_);
  std::ranges::move(info, std::back_inserter(families));
  // One order for every scrape, whatever the order of the configuration.
  std::ranges::sort(families, {}, &metrics::Family::name);
  return families;
}

}  // namespace nobs::telemetry
