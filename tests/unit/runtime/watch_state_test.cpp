#include "shared/runtime/watch_state.h"

#include <doctest/doctest.h>

namespace nobs::runtime {
namespace {

const std::string& version(const WatchState& state) {
  return std::get<Watching>(state).resource_version;
}

TEST_CASE("an expired version is forgotten, so that the next request lists from scratch") {
  const auto [state, action] = step(Watching{"41"}, Expired{});
  CHECK(std::holds_alternative<Unsynced>(state));
  CHECK(action == WatchAction::Relist);
}

TEST_CASE("an expired continue token is forgotten too") {
  const auto [state, action] = step(Listing{"p2"}, Expired{});
  CHECK(std::holds_alternative<Unsynced>(state));
  CHECK(action == WatchAction::Relist);
}

TEST_CASE("a dropped connection resumes from the last version and does not list again") {
  const auto [state, action] = step(Watching{"41"}, Failed{});
  CHECK(version(state) == "41");
  CHECK(action == WatchAction::Reconnect);
  CHECK(version(step(Watching{"41"}, Ended{}).state) == "41");
}

TEST_CASE("a page that could not be had is asked for again") {
  const auto [state, action] = step(Listing{"p2"}, Failed{});
  CHECK(std::get<Listing>(state).continue_token == "p2");
  CHECK(action == WatchAction::Reconnect);
}

TEST_CASE("a server that asks to wait is waited for") {
  const auto [state, action] = step(Watching{"41"}, Failed{.asked_to_wait = true});
  CHECK(version(state) == "41");
  CHECK(action == WatchAction::WaitThenReconnect);
}

TEST_CASE("nothing is dropped before the last page is there") {
  const auto first = step(Unsynced{}, PageArrived{"p2", "40"});
  CHECK(std::get<Listing>(first.state).continue_token == "p2");
  CHECK(first.action == WatchAction::Continue);
  const auto last = step(first.state, PageArrived{"", "40"});
  CHECK(version(last.state) == "40");
  CHECK(last.action == WatchAction::DropUnlisted);
}

TEST_CASE("a list without a version is listed again: a watch from now would miss changes") {
  const auto [state, action] = step(Listing{"p2"}, PageArrived{"", ""});
  CHECK(std::holds_alternative<Unsynced>(state));
  CHECK(action == WatchAction::Relist);
}

TEST_CASE("each event and bookmark moves the version to resume from") {
  const auto [state, action] = step(Watching{"9"}, EventArrived{"10"});
  CHECK(version(state) == "10");
  CHECK(action == WatchAction::Continue);
  CHECK(step(Watching{"10"}, EventArrived{"10"}).action == WatchAction::Continue);
}

TEST_CASE("versions that go back, or are missing, mean another history: list again") {
  CHECK(step(Watching{"10"}, EventArrived{"9"}).action == WatchAction::Relist);
  CHECK(step(Watching{"10"}, EventArrived{""}).action == WatchAction::Relist);
}

TEST_CASE("an event that cannot be read may have been a change: list again") {
  const auto [state, action] = step(Watching{"41"}, Unreadable{});
  CHECK(std::holds_alternative<Unsynced>(state));
  CHECK(action == WatchAction::Relist);
}

TEST_CASE("silence resumes once; silence again from the same version lists") {
  const auto first = step(Watching{"41"}, Silent{});
  CHECK(version(first.state) == "41");
  CHECK(first.action == WatchAction::Reconnect);
  CHECK(step(first.state, Silent{}).action == WatchAction::Relist);
}

TEST_CASE("what is heard between two silences keeps the version good") {
  const auto silent = step(Watching{"41"}, Silent{});
  const auto heard = step(silent.state, EventArrived{"42"});
  CHECK(step(heard.state, Silent{}).action == WatchAction::Reconnect);
}

TEST_CASE("before anything is known, whatever fails leads to a list") {
  for (const WatchInput& input : {WatchInput{Failed{}}, WatchInput{Expired{}}, WatchInput{Silent{}},
                                  WatchInput{Unreadable{}}, WatchInput{Ended{}}}) {
    CHECK(std::holds_alternative<Unsynced>(step(Unsynced{}, input).state));
  }
}

}  // namespace
}  // namespace nobs::runtime
