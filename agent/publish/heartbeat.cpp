#include "agent/publish/heartbeat.h"

#include "shared/api/lease.h"
#include "shared/api/names.h"

namespace nobs::publish {

Heartbeat::Heartbeat(kube::Client& client, Clock& clock, Random random, const log::Logger& logger,
                     metrics::Registry& registry, HeartbeatOptions options)
    : client_(client),
      clock_(clock),
      random_(std::move(random)),
      logger_(logger),
      options_(std::move(options)),
      renewed_(registry.gauge("neuron_observer_heartbeat_timestamp_seconds",
                              "When the heartbeat Lease was last renewed, in Unix seconds.")),
      failures_(registry.counter("neuron_observer_heartbeat_failures_total",
                                 "Renewals of the heartbeat Lease that failed.")) {}

void Heartbeat::run(const std::stop_token& stop, const std::function<std::string()>& node_uid,
                    const std::function<bool()>& alive) {
  while (!stop.stop_requested()) {
    const std::string uid = node_uid();
    auto wait = std::chrono::nanoseconds(std::chrono::seconds(1));
    if (!uid.empty() && alive()) {
      const auto done = renew(uid, stop);
      if (done) {
        renewed_.set(std::chrono::duration<double>(clock_.now().time_since_epoch()).count());
        // Up to a tenth earlier: a fleet that started at once must not renew at once for ever.
        wait = options_.interval -
               std::chrono::nanoseconds(static_cast<long long>(
                   static_cast<double>(options_.interval.count()) * 0.1 * random_()));
      } else if (!done.error().is_stopped()) {
        failures_.add();
        logger_.warn("heartbeat not renewed", {{"error", done.error().message}});
        wait = std::chrono::seconds(2);
        if (done.error().retry_after)
          wait = std::max(wait, std::chrono::nanoseconds(*done.error().retry_after));
      }
    }
    if (!clock_.wait_for(wait, stop)) return;
  }
}

Result<void> Heartbeat::renew(const std::string& node_uid, const std::stop_token& stop) {
  const auto object = api::heartbeat_object(options_.ns, options_.node, node_uid, clock_.now());
  auto patched = client_.patch(
      api::kLeases, options_.ns, api::heartbeat_name(options_.node),
      {.kind = kube::PatchKind::Merge, .body = json::object({{"spec", object["spec"]}})}, stop);
  if (patched) return {};
  if (!patched.error().is_not_found()) return patched.error();
  auto created = client_.create(api::kLeases, options_.ns, object, stop);
  if (!created && !created.error().is_exists()) return created.error();
  return {};
}

}  // namespace nobs::publish
