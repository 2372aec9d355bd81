// What a watch does next: the rules about 410, disconnects and silence in one place, no I/O.
//
// For the reflector, which asks `step` and does what it says. Pure; thread-safe.
//
//   auto [state, action] = step(Watching{"41"}, Expired{});   // -> Unsynced, Relist
#pragma once

#include <string>
#include <variant>

namespace nobs::runtime {

// ---- where we are
struct Unsynced {};  // nothing known: the next request lists
struct Listing {
  std::string continue_token;
};  // pages arrive; nothing is dropped until the last
struct Watching {
  std::string resource_version;
  bool was_silent = false;  // the last watch from this version heard nothing
};                          // everything is known as of this version
using WatchState = std::variant<Unsynced, Listing, Watching>;

// ---- what happened
struct PageArrived {
  std::string continue_token, resource_version;
};
struct EventArrived {
  std::string resource_version;
};                  // ADDED, MODIFIED, DELETED, BOOKMARK
struct Ended {};    // the server closed the watch in good order
struct Expired {};  // 410: the version or the token is gone from the server's history
struct Failed {
  bool asked_to_wait = false;
};                     // network, 5xx; 429 asks to wait
struct Silent {};      // no event, no bookmark for longer than the server promises
struct Unreadable {};  // something arrived that we cannot read: it may have been a change
using WatchInput =
    std::variant<PageArrived, EventArrived, Ended, Expired, Failed, Silent, Unreadable>;

// ---- what to do
enum class WatchAction { Continue, DropUnlisted, Reconnect, Relist, WaitThenReconnect };

struct WatchStep {
  WatchState state;
  WatchAction action;
};

// Never reuses a resourceVersion the server called expired, and never lists again for a mere disconnect. Lists again when
// versions go back, and when two watches in a row from one version hear nothing: a server restored from a backup answers
// a version from its lost future with silence, never with an error (seen on 1.37).
WatchStep step(const WatchState& state, const WatchInput& input);

}  // namespace nobs::runtime
