#include "shared/runtime/watch_state.h"

#include "shared/base/strings.h"

namespace nobs::runtime {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Versions of one resource only rise (comparable as numbers since Kubernetes 1.35, and always were with etcd).
bool is_older(const std::string& version, const std::string& than) {
  const auto left = parse_u64(version);
  const auto right = parse_u64(than);
  return left && right && *left < *right;
}

WatchStep on_page(const PageArrived& page) {
  if (!page.continue_token.empty()) return {Listing{page.continue_token}, WatchAction::Continue};
  // A watch without a version would begin "now" and silently miss what happened since the list.
  if (page.resource_version.empty()) return {Unsynced{}, WatchAction::Relist};
  return {Watching{page.resource_version}, WatchAction::DropUnlisted};
}

WatchStep on_event(const WatchState& state, const EventArrived& event) {
  const auto* watching = std::get_if<Watching>(&state);
  if (watching == nullptr) return {state, WatchAction::Continue};
  if (event.resource_version.empty() ||
      is_older(event.resource_version, watching->resource_version)) {
    return {Unsynced{}, WatchAction::Relist};
  }
  return {Watching{event.resource_version}, WatchAction::Continue};
}

WatchStep on_silence(const WatchState& state) {
  const auto* watching = std::get_if<Watching>(&state);
  if (watching == nullptr) return {state, WatchAction::Reconnect};
  if (watching->was_silent) return {Unsynced{}, WatchAction::Relist};
  return {Watching{watching->resource_version, true}, WatchAction::Reconnect};
}

}  // namespace

WatchStep step(const WatchState& state, const WatchInput& input) {
  return std::visit(Overloaded{
                        [&](const PageArrived& page) { return on_page(page); },
                        [&](const EventArrived& event) { return on_event(state, event); },
                        [&](const Ended&) {
                          return WatchStep{state, WatchAction::Reconnect};
                        },
                        [&](const Expired&) {
                          return WatchStep{Unsynced{}, WatchAction::Relist};
                        },
                        [&](const Failed& failed) {
                          return WatchStep{state, failed.asked_to_wait
                                                      ? WatchAction::WaitThenReconnect
                                                      : WatchAction::Reconnect};
                        },
                        [&](const Silent&) { return on_silence(state); },
                        [&](const Unreadable&) {
                          return WatchStep{Unsynced{}, WatchAction::Relist};
                        },
                    },
                    input);
}

}  // namespace nobs::runtime
