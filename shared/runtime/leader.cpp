#include "shared/runtime/leader.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "shared/base/duration.h"
#include "shared/base/rfc3339.h"

namespace nobs::runtime {
namespace {

using json::Value;
using std::chrono::nanoseconds;

constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

std::string holder_of(const Value& lease) { return lease["spec"]["holderIdentity"].string_or(""); }

std::int64_t transitions_of(const Value& lease) {
  return lease["spec"]["leaseTransitions"].int_or(0);
}

std::int64_t whole_seconds(std::chrono::milliseconds duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace

// The lease as last seen. Its times are never read: only when it changed, on our own clock, says whether it has ended.
struct LeaderElector::Known {
  Value lease;         // null: never seen
  SteadyTime changed;  // when the spec last became another one
  bool failing = false;

  void see(Value newest, SteadyTime now) {
    const bool is_new =
        lease.is_null() || std::as_const(lease)["spec"] != std::as_const(newest)["spec"];
    if (is_new) changed = now;
    lease = std::move(newest);
  }

  bool is_held_by_another(const std::string& identity, std::chrono::milliseconds our_duration,
                          SteadyTime now) const {
    const std::string holder = holder_of(lease);
    if (holder.empty() || holder == identity) return false;
    const std::int64_t seconds = lease["spec"]["leaseDurationSeconds"].int_or(0);
    const std::chrono::milliseconds duration =
        seconds > 0 ? std::chrono::seconds(std::min<std::int64_t>(seconds, 3600)) : our_duration;
    return now < changed + duration;
  }
};

Result<void> LeaderElector::check(const LeaderOptions& options) {
  if (options.ns.empty() || options.name.empty() || options.identity.empty()) {
    return invalid("leader election needs a namespace, a name and an identity");
  }
  const auto text = [](std::chrono::milliseconds duration) { return format_duration(duration); };
  if (options.retry_period.count() <= 0) {
    return invalid("retry period " + text(options.retry_period) + " must be above 0");
  }
  if (options.renew_deadline <= options.retry_period) {
    return invalid("renew deadline " + text(options.renew_deadline) +
                   " must be longer than the retry period " + text(options.retry_period));
  }
  if (options.lease_duration <= options.renew_deadline) {
    return invalid("lease duration " + text(options.lease_duration) +
                   " must be longer than the renew deadline " + text(options.renew_deadline));
  }
  return {};
}

LeaderElector::LeaderElector(kube::Client& client, Clock& clock, Random random,
                             const log::Logger& logger, LeaderOptions options,
                             metrics::Registry& registry)
    : client_(client),
      clock_(clock),
      random_(std::move(random)),
      logger_(logger),
      options_(std::move(options)),
      leader_metric_(
          registry.gauge("neuron_observer_leader", "1 while this replica leads, else 0.")) {
  leader_metric_.set(0);
}

bool LeaderElector::may_act() const {
  return clock_.steady().time_since_epoch() < nanoseconds(act_until_.load());
}

void LeaderElector::run(const std::stop_token& stop,
                        const std::function<void(const std::stop_token&)>& lead) {
  Known known;
  while (!stop.stop_requested()) {
    const SteadyTime began = clock_.steady();
    if (attempt(known, false, options_.renew_deadline, stop) == Outcome::Holding) {
      act_until_ = (began + options_.renew_deadline).time_since_epoch().count();
      serve_term(known, stop, lead);
    }
    // Replicas that lost the same race must not race again in step.
    const auto period = static_cast<double>(nanoseconds(options_.retry_period).count());
    const nanoseconds wait(static_cast<std::int64_t>(period * (1 + random_() / 2)));
    if (!clock_.wait_for(wait, stop)) return;
  }
}

void LeaderElector::serve_term(Known& known, const std::stop_token& stop,
                               const std::function<void(const std::stop_token&)>& lead) {
  std::stop_source term;
  const std::stop_callback forward(stop, [&] { term.request_stop(); });
  term_ = transitions_of(known.lease);
  leading_ = true;
  leader_metric_.set(1);
  logger_.info("leading", {{"identity", options_.identity}, {"term", std::to_string(term_)}});

  std::exception_ptr failure;
  std::jthread acting([&] {
    try {
      lead(term.get_token());
    } catch (...) {
      failure = std::current_exception();
    }
    term.request_stop();
  });

  const auto left = [&] { return SteadyTime(nanoseconds(act_until_.load())) - clock_.steady(); };
  bool is_held = true;
  while (is_held &&
         clock_.wait_for(std::min<nanoseconds>(options_.retry_period, left()), term.get_token())) {
    const SteadyTime began = clock_.steady();
    // Half of the deadline: one hanging request must leave time for another.
    const auto limit = std::min<nanoseconds>(options_.renew_deadline / 2, left());
    const Outcome outcome =
        limit.count() > 0 ? attempt(known, true, limit, term.get_token()) : Outcome::Failed;
    if (outcome == Outcome::Holding) {
      act_until_ = (began + options_.renew_deadline).time_since_epoch().count();
    }
    is_held = outcome != Outcome::NotHolding && left().count() > 0;
  }
  if (!is_held) act_until_ = 0;

  term.request_stop();
  leading_ = false;
  leader_metric_.set(0);
  logger_.info("no longer leading", {{"identity", options_.identity}});
  acting.join();
  // Given back only when nobody here acts any more.
  act_until_ = 0;
  if (is_held) release(known);
  if (failure) std::rethrow_exception(failure);
}

// One try, ended at the latest after `limit`.
LeaderElector::Outcome LeaderElector::attempt(Known& known, bool holding, nanoseconds limit,
                                              const std::stop_token& stop) {
  std::stop_source ending;
  const std::stop_callback forward(stop, [&] { ending.request_stop(); });
  const std::jthread timer([&](const std::stop_token& finished) {
    if (clock_.wait_for(limit, finished)) ending.request_stop();
  });
  const Outcome outcome = hold(known, holding, ending.get_token());
  if (outcome == Outcome::Failed && ending.stop_requested() && !stop.stop_requested()) {
    failed(known, {ErrorCode::Timeout, "no answer within " + format_duration(limit), 0, {}});
  }
  return outcome;
}

LeaderElector::Outcome LeaderElector::hold(Known& known, bool holding,
                                           const std::stop_token& stop) {
  // The lease with us as its holder; a new term unless we hold it already.
  const auto ours = [&](Value lease) {
    const std::string now = format_micros(clock_.now());
    Value& spec = lease["spec"];
    if (!holding) {
      // Rises even when somebody deleted the lease meanwhile.
      const bool is_first = known.lease.is_null();
      spec["leaseTransitions"] = is_first ? 0 : transitions_of(known.lease) + 1;
      spec["acquireTime"] = now;
    }
    spec["holderIdentity"] = options_.identity;
    spec["leaseDurationSeconds"] = whole_seconds(options_.lease_duration);
    spec["renewTime"] = now;
    return lease;
  };
  const auto update = [&]() -> Result<Value> {
    // Without the version the server could not tell that another was faster.
    if (std::as_const(known.lease)["metadata"]["resourceVersion"].string_or("").empty()) {
      return Error{ErrorCode::Server, "the lease has no resourceVersion", 200, {}};
    }
    return client_.replace(kLeases, options_.ns, options_.name, ours(known.lease), stop);
  };
  const auto create = [&] {
    Value lease = json::object({{"apiVersion", "coordination.k8s.io/v1"},
                                {"kind", "Lease"},
                                {"metadata", json::object({{"name", options_.name}})}});
    if (holding) lease["spec"] = std::as_const(known.lease)["spec"];
    return client_.create(kLeases, options_.ns, ours(std::move(lease)), stop);
  };
  const auto written = [&](Value lease) {
    known.see(std::move(lease), clock_.steady());
    known.failing = false;
    return Outcome::Holding;
  };

  if (holding) {  // usually nobody touched it, and one request is enough
    auto renewed = update();
    if (renewed) return written(*std::move(renewed));
    const Error& error = renewed.error();
    if (!error.is_conflict() && !error.is_not_found()) {
      failed(known, error);
      return Outcome::Failed;
    }
  }
  auto found = client_.get(kLeases, options_.ns, options_.name, stop);
  const SteadyTime now = clock_.steady();
  const bool exists = static_cast<bool>(found);
  if (found) {
    known.see(*std::move(found), now);
  } else if (!found.error().is_not_found()) {
    failed(known, found.error());
    return Outcome::Failed;
  }
  // A deleted lease is one that does not change: its holder may still act until it notices.
  if (known.is_held_by_another(options_.identity, options_.lease_duration, now)) {
    known.failing = false;
    return Outcome::NotHolding;
  }
  auto answer = exists ? update() : create();
  if (answer) return written(*std::move(answer));
  // Another was faster. Who leads looks again at its next turn; nobody else may count on having it.
  if (answer.error().is_conflict() || answer.error().is_exists()) {
    return holding ? Outcome::Failed : Outcome::NotHolding;
  }
  failed(known, answer.error());
  return Outcome::Failed;
}

// Twice, because the renewal that stop interrupted may have been written without our knowing its version.
void LeaderElector::release(Known& known) {
  std::stop_source ending;
  const std::jthread timer([&](const std::stop_token& finished) {
    if (clock_.wait_for(options_.retry_period, finished)) ending.request_stop();
  });
  const auto give_back = [&] {
    Value lease = known.lease;
    const std::string now = format_micros(clock_.now());
    Value& spec = lease["spec"];
    spec["holderIdentity"] = "";
    spec["leaseDurationSeconds"] = 1;
    spec["renewTime"] = now;
    spec["acquireTime"] = now;
    return client_.replace(kLeases, options_.ns, options_.name, lease, ending.get_token());
  };
  auto given = give_back();
  if (!given && given.error().is_conflict()) {
    auto found = client_.get(kLeases, options_.ns, options_.name, ending.get_token());
    if (found && holder_of(*found) == options_.identity) {
      known.lease = *std::move(found);
      given = give_back();
    }
  }
  if (given) {
    known.see(*std::move(given), clock_.steady());
  } else {
    logger_.warn("the lease could not be given back",
                 {{"identity", options_.identity}, {"error", given.error().message}});
  }
}

// Once per outage, not every two seconds.
void LeaderElector::failed(Known& known, const Error& error) {
  if (error.is_stopped() || std::exchange(known.failing, true)) return;
  logger_.warn("the lease cannot be read or written",
               {{"identity", options_.identity}, {"error", error.message}});
}

}  // namespace nobs::runtime
