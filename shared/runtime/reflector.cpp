#include "shared/runtime/reflector.h"

#include <algorithm>
#include <utility>

namespace nobs::runtime {
namespace {

using json::Value;
using namespace std::chrono_literals;

constexpr std::string_view kReasons[] = {"ended",  "expired",    "failed",
                                         "silent", "unreadable", "throttled"};

std::string_view reason_of(const WatchInput& input) {
  if (std::holds_alternative<Ended>(input)) return "ended";
  if (std::holds_alternative<Expired>(input)) return "expired";
  if (std::holds_alternative<Silent>(input)) return "silent";
  const auto* failed = std::get_if<Failed>(&input);
  if (failed == nullptr) return "unreadable";
  return failed->asked_to_wait ? "throttled" : "failed";
}

WatchInput input_of(const Error& error) {
  if (error.is_gone()) return Expired{};
  // How kube::Client reports an answer of status 200 that is no JSON or no event.
  if (error.code == ErrorCode::Server && error.http_status == 200) return Unreadable{};
  return Failed{error.code == ErrorCode::TooMany || error.retry_after.has_value()};
}

std::string version_of(const Value& object) {
  return object["metadata"]["resourceVersion"].string_or("");
}

bool ends_initial_events(const Value& bookmark) {
  return bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"].string_or("") == "true";
}

}  // namespace

ReflectorMetrics::ReflectorMetrics(metrics::Registry& registry)
    : lists(registry.counter("neuron_observer_watch_lists_total",
                             "Lists from scratch that were begun.", {"resource"})),
      events(registry.counter("neuron_observer_watch_events_total",
                              "Watch events received, without bookmarks.", {"resource"})),
      restarts(registry.counter("neuron_observer_watch_restarts_total",
                                "Lists and watches that ended, by reason.",
                                {"resource", "reason"})),
      last_event(registry.gauge("neuron_observer_watch_last_event_timestamp_seconds",
                                "When the API server was last heard of: pages, events, bookmarks.",
                                {"resource"})),
      synced(registry.gauge("neuron_observer_watch_synced", "1 once the resource was listed whole.",
                            {"resource"})) {}

Reflector::Reflector(kube::Client& client, Clock& clock, Random random, const log::Logger& logger,
                     ReflectorMetrics& metrics, ReflectorOptions options,
                     ReflectorHandlers handlers)
    : client_(client),
      clock_(clock),
      random_(std::move(random)),
      logger_(logger),
      metrics_(metrics),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      resource_(options_.type.plural),
      stream_(options_.stream) {
  metrics_.lists.add({resource_}, 0);
  metrics_.events.add({resource_}, 0);
  for (const auto& reason : kReasons) metrics_.restarts.add({resource_, std::string(reason)}, 0);
  metrics_.synced.set({resource_}, 0);
}

void Reflector::run(const std::stop_token& stop) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto drawn = [&](std::chrono::milliseconds limit) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Milliseconds(limit) * random_());
  };
  // Programs that start together must not list together.
  if (!clock_.wait_for(drawn(options_.start_jitter), stop)) return;

  Backoff backoff(options_.backoff, random_);
  WatchState state = Unsynced{};
  while (!stop.stop_requested()) {
    const auto began = clock_.steady();
    const auto* page = std::get_if<Listing>(&state);
    const Attempt attempt = std::holds_alternative<Watching>(state) ? watch(state, backoff, stop)
                            : stream_ && page == nullptr
                                ? list_stream(stop)
                                : list_page(page != nullptr ? page->continue_token : "", stop);
    if (stop.stop_requested()) return;
    auto [next, action] = step(state, attempt.input);
    state = std::move(next);
    if (action == WatchAction::DropUnlisted) announce();
    if (action == WatchAction::DropUnlisted || action == WatchAction::Continue) continue;

    const std::string reason(reason_of(attempt.input));
    metrics_.restarts.add({resource_, reason});
    const bool lasted = clock_.steady() - began > options_.backoff.initial;
    if (reason == "ended" && lasted) continue;
    std::chrono::nanoseconds wait = backoff.next();
    if (attempt.error.retry_after) {
      wait = std::max(wait, *attempt.error.retry_after + drawn(options_.backoff.initial));
    }
    const std::string what = action == WatchAction::Relist ? "list" : "resume";
    logger_.warn("watch interrupted", {{"resource", resource_},
                                       {"reason", reason},
                                       {"next", what},
                                       {"error", attempt.error.message}});
    if (!clock_.wait_for(wait, stop)) return;
  }
}

// Everything in one stream, up to the bookmark that says so. The stream ends there: a watch without compression follows,
// whose events need no flushing.
Reflector::Attempt Reflector::list_stream(const std::stop_token& stop) {
  metrics_.lists.add({resource_});
  handlers_.begin_list();
  std::string version;
  bool is_whole = false;
  const kube::WatchOptions options{.field_selector = options_.field_selector,
                                   .label_selector = options_.label_selector,
                                   .initial_events = true,
                                   .timeout = options_.watch_timeout,
                                   .silence = options_.silence};
  const auto ended = client_.watch(options_.type, options_.ns, options, stop,
                                   [&](kube::WatchEventType type, Value object) {
                                     heard();
                                     if (type == kube::WatchEventType::Bookmark) {
                                       version = version_of(object);
                                       is_whole = ends_initial_events(object);
                                       return !is_whole;
                                     }
                                     if (type == kube::WatchEventType::Deleted) {
                                       handlers_.remove(std::move(object));
                                     } else {
                                       handlers_.upsert(std::move(object));
                                     }
                                     return true;
                                   });
  if (is_whole) return {PageArrived{"", version}, {}};
  if (ended) return {Failed{}, invalid("the stream of initial events ended early")};
  if (ended.error().code == ErrorCode::Rejected) {
    logger_.info("no initial events here, listing in pages", {{"resource", resource_}});
    stream_ = false;
    return list_page("", stop);
  }
  return {input_of(ended.error()), ended.error()};
}

Reflector::Attempt Reflector::list_page(const std::string& continue_token,
                                        const std::stop_token& stop) {
  if (continue_token.empty()) {
    metrics_.lists.add({resource_});
    handlers_.begin_list();
  }
  const kube::ListOptions options{.field_selector = options_.field_selector,
                                  .label_selector = options_.label_selector,
                                  .limit = options_.page_size,
                                  .continue_token = continue_token};
  const auto page = client_.list(options_.type, options_.ns, options, stop, [&](Value object) {
    handlers_.upsert(std::move(object));
    return true;
  });
  if (!page) return {input_of(page.error()), page.error()};
  heard();
  return {PageArrived{page->continue_token, page->resource_version},
          invalid("the list has no resourceVersion")};
}

Reflector::Attempt Reflector::watch(WatchState& state, Backoff& backoff,
                                    const std::stop_token& stop) {
  const auto extra = static_cast<double>(options_.watch_timeout.count()) * random_();
  const kube::WatchOptions options{
      .field_selector = options_.field_selector,
      .label_selector = options_.label_selector,
      .resource_version = std::get<Watching>(state).resource_version,
      .timeout = options_.watch_timeout + std::chrono::seconds(static_cast<long long>(extra)),
      .silence = options_.silence};
  auto last = clock_.steady();
  bool is_readable = true;
  const auto ended = client_.watch(
      options_.type, options_.ns, options, stop, [&](kube::WatchEventType type, Value object) {
        last = clock_.steady();
        auto [next, action] = step(state, EventArrived{version_of(object)});
        is_readable = action == WatchAction::Continue;
        if (!is_readable) return false;
        state = std::move(next);
        heard();
        backoff.reset();
        if (type == kube::WatchEventType::Bookmark) return true;
        metrics_.events.add({resource_});
        if (type == kube::WatchEventType::Deleted) {
          handlers_.remove(std::move(object));
        } else {
          handlers_.upsert(std::move(object));
        }
        return true;
      });
  if (!is_readable) return {Unreadable{}, invalid("the event's resourceVersion is not newer")};
  if (ended) return {Ended{}, {}};
  // A connection that cannot be made times out sooner, and is no silence.
  const bool is_silent = ended.error().code == ErrorCode::Timeout &&
                         ended.error().http_status == 0 &&
                         clock_.steady() - last >= options_.silence;
  if (is_silent) return {Silent{}, ended.error()};
  return {input_of(ended.error()), ended.error()};
}

void Reflector::heard() {
  const std::chrono::duration<double> since_1970 = clock_.now().time_since_epoch();
  metrics_.last_event.set({resource_}, since_1970.count());
}

void Reflector::announce() {
  handlers_.end_list();
  if (synced_.exchange(true)) return;
  metrics_.synced.set({resource_}, 1);
  logger_.info("watch synced", {{"resource", resource_}});
}

}  // namespace nobs::runtime
