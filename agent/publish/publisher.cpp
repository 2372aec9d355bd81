#include "agent/publish/publisher.h"

#include "shared/api/event.h"
#include "shared/api/names.h"

namespace nobs::publish {
namespace {

constexpr auto kSlowInterval = std::chrono::minutes(5);
constexpr auto kEventInterval =
    std::chrono::minutes(10);  // one Event for each device and class: design section 5
constexpr size_t kMaxChanges = 256;

}  // namespace

Publisher::Publisher(kube::Client& client, OwnView& view, Clock& clock, Random random,
                     const log::Logger& logger, metrics::Registry& registry, std::string node)
    : client_(client),
      view_(view),
      clock_(clock),
      logger_(logger),
      node_(std::move(node)),
      backoff_(
          {.initial = std::chrono::milliseconds(200), .maximum = std::chrono::milliseconds(15'000)},
          std::move(random)),
      writes_(registry.counter("neuron_observer_publish_writes_total",
                               "Objects written to the API server.", {"kind"})),
      failures_(registry.counter("neuron_observer_publish_failures_total",
                                 "Rounds of publishing that failed and are tried again.")),
      pending_(registry.gauge("neuron_observer_publish_pending",
                              "1 while the API server does not hold the newest verdicts.")) {
  pending_.set(1);
  view_.on_change([this] { wake(); });
}

void Publisher::wake() {
  {
    const std::lock_guard lock(mutex_);
    dirty_ = true;
  }
  woken_.notify_all();
}

void Publisher::offer(std::shared_ptr<const Report> report,
                      const std::vector<health::Change>& changes) {
  {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
    changes_.insert(changes_.end(), changes.begin(), changes.end());
    while (changes_.size() > kMaxChanges) changes_.pop_front();
    dirty_ = true;
  }
  woken_.notify_all();
}

std::optional<std::vector<api::NeuronDevice>> Publisher::take_restored() {
  const std::lock_guard lock(mutex_);
  return std::exchange(restored_, std::nullopt);
}

bool Publisher::published_once() const {
  const std::lock_guard lock(mutex_);
  return published_once_;
}

std::vector<Acknowledgement> Publisher::acknowledgements() const {
  std::vector<Acknowledgement> list;
  const OwnState state = view_.read();
  for (const auto& [name, device] : state.devices) {
    std::int64_t generation = 0;
    for (const char c : device.acknowledge) {
      if (c < '0' || c > '9' || generation > (1LL << 55)) {
        generation = 0;
        break;
      }
      generation = generation * 10 + (c - '0');
    }
    if (generation > 0) list.push_back({device.index, generation});
  }
  return list;
}

void Publisher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, stop, std::chrono::seconds(30), [&] { return dirty_; });
      dirty_ = false;
    }
    if (stop.stop_requested()) return;
    const auto done = reconcile(stop);
    if (done) {
      backoff_.reset();
      continue;
    }
    if (done.error().is_stopped()) return;
    failures_.add();
    logger_.warn("publishing failed", {{"error", done.error().message}});
    wake();
    auto delay = backoff_.next();
    if (done.error().retry_after) delay = std::max(delay, *done.error().retry_after);
    if (!clock_.wait_for(delay, stop)) return;
  }
}

Result<void> Publisher::reconcile(const std::stop_token& stop) {
  const OwnState state = view_.read();
  if (!state.synced || !state.node) return {};  // the view wakes us when that changes
  std::shared_ptr<const Report> report;
  {
    const std::lock_guard lock(mutex_);
    if (restored_uid_ != state.node->uid) {
      // A node, or a successor of the same name: what is published for it comes first.
      restored_uid_ = state.node->uid;
      published_once_ = false;
      std::vector<api::NeuronDevice> earlier;
      for (const auto& [name, device] : state.devices) {
        if (device.node_uid == state.node->uid && device.index >= 0) earlier.push_back(device);
      }
      restored_ = std::move(earlier);
      report_.reset();
      return {};
    }
    if (restored_ || !report_ || !report_->restored) return {};
    report = report_;
  }
  std::optional<Error> failed;
  for (const auto& desired : desired_devices(*report, node_, state.node->uid)) {
    // One device that the server refuses must not hold back the others.
    if (auto done = publish_device(desired, state, stop); !done) {
      if (done.error().is_stopped()) return done;
      failed = done.error();
      if (done.error().code == ErrorCode::Unreachable || done.error().code == ErrorCode::Timeout)
        break;
    }
  }
  if (failed) {
    pending_.set(1);
    return *failed;
  }
  const auto patch =
      condition_patch(node_verdict(report->memory), state.node->condition, clock_.now());
  if (!patch.is_null()) {
    auto written = client_.patch(
        api::kNodes, "", node_,
        {.kind = kube::PatchKind::Strategic, .body = patch, .subresource = "status"}, stop);
    if (!written) {
      pending_.set(1);
      return written.error();
    }
    writes_.add({"Node"});
    view_.learn_node(*written);
  }
  pending_.set(0);
  {
    const std::lock_guard lock(mutex_);
    published_once_ = true;
  }
  publish_events(state, stop);
  return {};
}

Result<void> Publisher::publish_device(const api::NeuronDevice& desired, const OwnState& state,
                                       const std::stop_token& stop) {
  const auto found = state.devices.find(desired.name);
  if (found == state.devices.end()) return create_device(desired, stop);
  const api::NeuronDevice& published = found->second;
  const bool other_part =
      !published.serial.empty() && published.serial != desired.serial && !desired.serial.empty();
  if (other_part || published.node_uid != desired.node_uid || published.index != desired.index) {
    // Another part, or another node of our name: its history is not this one's.
    auto removed = client_.remove(api::kNeuronDevices, "", published.name, published.uid, stop);
    if (!removed && !removed.error().is_not_found()) return removed.error();
    view_.forget_device(published.name);
    return create_device(desired, stop);
  }
  if (published.serial.empty() && !desired.serial.empty()) {
    auto written = client_.patch(
        api::kNeuronDevices, "", desired.name,
        {.kind = kube::PatchKind::Merge,
         .body = json::object({{"spec", json::object({{"serialNumber", desired.serial}})}})},
        stop);
    if (!written) return written.error();
    writes_.add({"NeuronDevice"});
  }
  switch (difference(desired, published)) {
    case Difference::None:
      return {};
    case Difference::Slow: {
      const auto last = slow_written_.find(desired.name);
      if (last != slow_written_.end() && clock_.steady() - last->second < kSlowInterval) return {};
      break;
    }
    case Difference::Now:
      break;
  }
  return write_status(desired, stop);
}

Result<void> Publisher::create_device(const api::NeuronDevice& desired,
                                      const std::stop_token& stop) {
  auto created = client_.create(api::kNeuronDevices, "", api::device_object(desired), stop);
  if (!created && !created.error().is_exists()) return created.error();
  if (!created) {
    // Somebody was faster, or the answer of our own create was lost: look at what is there.
    auto there = client_.get(api::kNeuronDevices, "", desired.name, stop);
    if (!there) return there.error();
    view_.learn_device(*there);
    return Error{ErrorCode::Conflict, desired.name + " exists already", 409, {}};
  }
  writes_.add({"NeuronDevice"});
  // 43 % of every object's bytes in every list; only a write to the main resource after the create empties them.
  auto emptied = client_.patch(
      api::kNeuronDevices, "", desired.name,
      {.kind = kube::PatchKind::Merge,
       .body = json::object(
           {{"metadata", json::object({{"managedFields", json::array({json::Object{}})}})}})},
      stop);
  if (!emptied) return emptied.error();
  view_.learn_device(*emptied);
  return write_status(desired, stop);
}

Result<void> Publisher::write_status(const api::NeuronDevice& desired,
                                     const std::stop_token& stop) {
  auto written = client_.patch(api::kNeuronDevices, "", desired.name,
                               {.kind = kube::PatchKind::Merge,
                                .body = json::object({{"status", api::device_status(desired)}}),
                                .subresource = "status"},
                               stop);
  if (!written) {
    if (written.error().is_not_found()) view_.forget_device(desired.name);
    return written.error();
  }
  writes_.add({"NeuronDevice"});
  slow_written_[desired.name] = clock_.steady();
  view_.learn_device(*written);
  return {};
}

void Publisher::publish_events(const OwnState& state, const std::stop_token& stop) {
  std::deque<health::Change> changes;
  {
    const std::lock_guard lock(mutex_);
    changes.swap(changes_);
  }
  using Kind = health::Change::Kind;
  for (const auto& change : changes) {
    if (change.kind != Kind::FaultBegan && change.kind != Kind::FaultCleared) continue;
    const bool began = change.kind == Kind::FaultBegan;
    const std::string reason =
        std::string(to_string(change.fault.fault)) + (began ? "" : "Cleared");
    const std::string key = std::to_string(change.device) + "/" + reason;
    const auto last = event_written_.find(key);
    if (last != event_written_.end() && clock_.steady() - last->second < kEventInterval) continue;
    event_written_[key] = clock_.steady();
    const std::string device = api::device_name(node_, change.device);
    const std::string note = began ? device + ": " + change.fault.message
                                   : device + ": " + std::string(to_string(change.fault.fault)) +
                                         " cleared (" + change.cleared_by + ")";
    const bool fatal = change.fault.severity == api::Severity::Fatal;
    const auto event =
        api::event_object({.type = began && fatal ? "Warning" : "Normal",
                           .reason = reason,
                           .action = began ? "Detect" : "Clear",
                           .note = note},
                          api::kNodes, node_, state.node->uid, api::kAgent, node_, clock_.now());
    // Events are a courtesy: the state itself is in the objects.
    if (auto created = client_.create(api::kEvents, "default", event, stop); created) {
      writes_.add({"Event"});
    } else {
      logger_.debug("event not written", {{"reason", reason}, {"error", created.error().message}});
    }
  }
}

}  // namespace nobs::publish
