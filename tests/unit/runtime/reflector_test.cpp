#include "shared/runtime/reflector.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "tests/unit/runtime/scripted_api.h"

namespace nobs::runtime {
namespace {

using namespace std::chrono_literals;

constexpr ResourceType kThings{"example.com", "v1", "things", "Thing", false};

std::string thing(const std::string& name, const std::string& version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + version + R"("}})";
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string bookmark(const std::string& version, bool ends_initial_events = false) {
  const std::string end = R"("annotations":{"k8s.io/initial-events-end":"true"},)";
  return event("BOOKMARK", R"({"metadata":{)" + (ends_initial_events ? end : "") +
                               R"("resourceVersion":")" + version + R"("}})");
}

const std::string kGoneEvent =
    event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})");

net::Answer page(const std::vector<std::string>& items, const std::string& version,
                 const std::string& continue_token = "") {
  std::string body = R"({"items":[)";
  for (const auto& item : items) body += (&item == items.data() ? "" : ",") + item;
  return answer(200, body + R"(],"metadata":{"resourceVersion":")" + version + R"(","continue":")" +
                         continue_token + R"("}})");
}

// What a reflector knows, as its owner would keep it.
struct Picture {
  std::map<std::string, std::string> versions;  // by name
  std::set<std::string> unlisted;
  int lists_begun = 0;
  int lists_ended = 0;
};

// A reflector against a script: each request takes the next answer; when there is none left, it hangs.
struct Fixture {
  enum class Then { End, Cut, Hang };

  ScriptedApi api{[this](const net::Request&) {
    std::function<net::Answer()> next = watch("", Then::Hang);
    {
      const std::lock_guard lock(mutex);
      if (!script.empty()) {
        next = std::move(script.front());
        script.pop_front();
      }
    }
    return next();
  }};
  SystemClock clock;
  kube::Client client{api.config(), "test", clock};
  log::Logger logger{{.component = "test", .now = {}, .sink = [](std::string_view) {}}};
  metrics::Registry registry;
  ReflectorMetrics metrics{registry};
  ReflectorOptions options{.type = kThings,
                           .stream = false,
                           .page_size = 2,
                           .start_jitter = 0ms,
                           .backoff = {.initial = 1ms, .maximum = 20ms, .jitter = 0.5}};
  std::mutex mutex;
  std::deque<std::function<net::Answer()>> script;
  Picture picture;
  std::optional<Reflector> reflector;
  std::jthread thread;  // last: ends first

  // A watch's answer: these lines, and then.
  std::function<net::Answer()> watch(const std::string& lines, Then then) {
    return [this, lines, then] {
      net::Answer opened = answer(200, "");
      opened.stream = [this, lines, then](const net::Writer& write) {
        if (!lines.empty() && !write(lines)) return;
        if (then == Then::Hang) api.until_over([&] { return !write(""); });
      };
      if (then == Then::Cut) opened.cut = [] { return true; };
      return opened;
    };
  }
  void says(net::Answer next) {
    script.emplace_back([next = std::move(next)] { return next; });
  }
  void says(const std::string& lines, Then then) { script.push_back(watch(lines, then)); }

  void start() {
    const auto name = [](const json::Value& object) {
      return object["metadata"]["name"].string_or("");
    };
    ReflectorHandlers handlers;
    handlers.begin_list = [this] {
      const std::lock_guard lock(mutex);
      ++picture.lists_begun;
      picture.unlisted.clear();
      for (const auto& [known, version] : picture.versions) picture.unlisted.insert(known);
    };
    handlers.upsert = [this, name](const json::Value& object) {
      const std::lock_guard lock(mutex);
      picture.unlisted.erase(name(object));
      picture.versions[name(object)] = object["metadata"]["resourceVersion"].string_or("");
    };
    handlers.remove = [this, name](const json::Value& object) {
      const std::lock_guard lock(mutex);
      picture.versions.erase(name(object));
    };
    handlers.end_list = [this] {
      const std::lock_guard lock(mutex);
      ++picture.lists_ended;
      for (const auto& gone : picture.unlisted) picture.versions.erase(gone);
    };
    reflector.emplace(client, clock, system_random(), logger, metrics, options, handlers);
    thread = std::jthread([this](const std::stop_token& stop) { reflector->run(stop); });
  }
  Picture known() {
    const std::lock_guard lock(mutex);
    return picture;
  }
  bool has(const std::map<std::string, std::string>& versions) {
    return test::eventually(10s, [&] { return known().versions == versions; });
  }
  // The targets once there are `count` of them, without what is the same in all.
  std::vector<std::string> asked(size_t count) {
    test::eventually(10s, [&] { return api.targets().size() >= count; });
    auto targets = api.targets();
    for (auto& target : targets) {
      const bool is_watch = target.find("watch=1") != std::string::npos;
      const size_t version = target.find("resourceVersion=");
      const size_t token = target.find("continue=");
      std::string brief = is_watch ? "watch" : "list";
      if (target.find("sendInitialEvents=true") != std::string::npos) brief = "stream";
      if (version != std::string::npos)
        brief += " " + target.substr(version, target.find('&', version) - version);
      if (token != std::string::npos)
        brief += " " + target.substr(token, target.find('&', token) - token);
      target = brief;
    }
    return targets;
  }
};

using Asked = std::vector<std::string>;

TEST_CASE_FIXTURE(Fixture, "pages are listed, then watched from the list's version") {
  says(page({thing("a", "1"), thing("b", "2")}, "40", "p2"));
  says(page({thing("c", "3")}, "40"));
  says(event("MODIFIED", thing("a", "41")) + event("ADDED", thing("d", "42")) +
           event("DELETED", thing("b", "43")),
       Fixture::Then::Hang);
  start();
  CHECK(has({{"a", "41"}, {"c", "3"}, {"d", "42"}}));
  CHECK(reflector->synced());
  CHECK(asked(3) == Asked{"list", "list continue=p2", "watch resourceVersion=40"});
  const auto targets = api.targets();
  CHECK(targets[0].starts_with("GET /apis/example.com/v1/things?"));
  CHECK(targets[0].find("limit=2") != std::string::npos);
  CHECK(targets[2].find("allowWatchBookmarks=true") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a dropped connection resumes from the last event and does not list") {
  says(page({thing("a", "1")}, "40"));
  says(event("ADDED", thing("b", "41")) + event("ADDED", thing("c", "42")), Fixture::Then::Cut);
  says(event("ADDED", thing("d", "43")), Fixture::Then::End);
  says(answer(500));
  start();
  CHECK(has({{"a", "1"}, {"b", "41"}, {"c", "42"}, {"d", "43"}}));
  CHECK(asked(5) == Asked{"list", "watch resourceVersion=40", "watch resourceVersion=42",
                          "watch resourceVersion=43", "watch resourceVersion=43"});
  CHECK(known().lists_begun == 1);
}

TEST_CASE_FIXTURE(Fixture, "a bookmark moves the version, and is no object") {
  says(page({}, "40"));
  says(bookmark("77"), Fixture::Then::Cut);
  start();
  CHECK(asked(3) == Asked{"list", "watch resourceVersion=40", "watch resourceVersion=77"});
  CHECK(known().versions.empty());
}

TEST_CASE_FIXTURE(Fixture, "an expired watch lists again and never uses that version again") {
  says(page({thing("a", "1"), thing("b", "2")}, "40"));
  says(kGoneEvent, Fixture::Then::End);
  says(page({thing("a", "50")}, "50"));
  says(answer(410));
  says(page({thing("a", "60")}, "60"));
  start();
  CHECK(has({{"a", "60"}}));
  CHECK(asked(6) == Asked{"list", "watch resourceVersion=40", "list", "watch resourceVersion=50",
                          "list", "watch resourceVersion=60"});
}

TEST_CASE_FIXTURE(Fixture, "a continue token that expires begins the list again") {
  says(page({thing("old", "1"), thing("a", "2")}, "40", "p2"));
  says(answer(410));
  says(page({thing("a", "3"), thing("b", "4")}, "50", "q2"));
  says(page({thing("c", "5")}, "50"));
  start();
  CHECK(has({{"a", "3"}, {"b", "4"}, {"c", "5"}}));
  CHECK(asked(5) ==
        Asked{"list", "list continue=p2", "list", "list continue=q2", "watch resourceVersion=50"});
  CHECK(known().lists_begun == 2);
  CHECK(known().lists_ended == 1);
}

TEST_CASE_FIXTURE(Fixture, "old content is kept until the last page of a new list is there") {
  std::atomic<bool> may_end = false;
  says(page({thing("a", "1"), thing("b", "2")}, "40"));
  says(kGoneEvent, Fixture::Then::End);
  says(page({thing("a", "50")}, "50", "p2"));
  script.emplace_back([&] {
    api.until_over([&] { return may_end.load(); });
    return page({thing("c", "51")}, "50");
  });
  start();
  CHECK(has({{"a", "50"}, {"b", "2"}}));
  asked(4);
  CHECK(known().versions.contains("b"));
  may_end = true;
  CHECK(has({{"a", "50"}, {"c", "51"}}));
}

TEST_CASE_FIXTURE(Fixture, "a page that fails is asked for again; nothing is dropped meanwhile") {
  says(answer(500));
  says(page({thing("a", "1")}, "40", "p2"));
  says({0, {}, ""});  // closed without an answer
  says(answer(503));
  says(page({thing("b", "2")}, "40"));
  start();
  CHECK(has({{"a", "1"}, {"b", "2"}}));
  CHECK(asked(6) == Asked{"list", "list", "list continue=p2", "list continue=p2",
                          "list continue=p2", "watch resourceVersion=40"});
}

TEST_CASE_FIXTURE(Fixture, "what cannot be read is a change that was missed: list again") {
  std::string lines;
  SUBCASE("no JSON") { lines = "ADDED\n"; }
  SUBCASE("no object") { lines = event("ADDED", "7"); }
  SUBCASE("an unknown type") { lines = event("CHANGED", thing("b", "41")); }
  SUBCASE("no version") { lines = event("ADDED", R"({"metadata":{"name":"b"}})"); }
  SUBCASE("an older version") { lines = event("ADDED", thing("b", "39")); }
  says(page({thing("a", "1")}, "40"));
  says(lines, Fixture::Then::Hang);
  says(page({thing("a", "50")}, "50"));
  start();
  CHECK(has({{"a", "50"}}));
  CHECK(asked(4) == Asked{"list", "watch resourceVersion=40", "list", "watch resourceVersion=50"});
}

TEST_CASE_FIXTURE(Fixture, "a list that is no list is not the end of the program") {
  says(answer(200, R"({"items":"none"})"));
  says(answer(200, "<html>"));
  says(page({}, ""));  // no version
  says(page({thing("a", "1")}, "40"));
  start();
  CHECK(has({{"a", "1"}}));
}

TEST_CASE_FIXTURE(Fixture, "a server that asks to wait is not asked again before") {
  auto wait = answer(429);
  wait.headers.set("Retry-After", "1");
  says(page({}, "40"));
  says(wait);
  start();
  asked(2);
  const auto began = std::chrono::steady_clock::now();
  CHECK(asked(3) == Asked{"list", "watch resourceVersion=40", "watch resourceVersion=40"});
  CHECK(std::chrono::steady_clock::now() - began >= 900ms);
}

TEST_CASE_FIXTURE(Fixture, "silence resumes, and silence again lists") {
  options.silence = 100ms;
  says(page({}, "40"));
  says("", Fixture::Then::Hang);
  says("", Fixture::Then::Hang);
  says(page({thing("a", "1")}, "12"));
  start();
  CHECK(has({{"a", "1"}}));
  const auto targets = asked(5);
  CHECK(Asked(targets.begin(), targets.begin() + 5) == Asked{"list", "watch resourceVersion=40",
                                                             "watch resourceVersion=40", "list",
                                                             "watch resourceVersion=12"});
}

TEST_CASE_FIXTURE(Fixture, "one stream is enough where the server has it") {
  options.stream = true;
  says(event("ADDED", thing("a", "1")) + event("ADDED", thing("b", "2")) + bookmark("40", true),
       Fixture::Then::Hang);
  says(event("MODIFIED", thing("a", "41")), Fixture::Then::Hang);
  start();
  CHECK(has({{"a", "41"}, {"b", "2"}}));
  CHECK(asked(2) == Asked{"stream", "watch resourceVersion=40"});
  CHECK(known().lists_ended == 1);
}

TEST_CASE_FIXTURE(Fixture, "a stream that ends before it is whole drops nothing and begins again") {
  options.stream = true;
  says(event("ADDED", thing("a", "1")) + event("ADDED", thing("b", "2")) + bookmark("40", true),
       Fixture::Then::Hang);
  says(kGoneEvent, Fixture::Then::End);
  says(event("ADDED", thing("a", "50")) + bookmark("50"), Fixture::Then::End);
  says("", Fixture::Then::Hang);
  start();
  CHECK(has({{"a", "50"}, {"b", "2"}}));
  CHECK(asked(4)[3].starts_with("stream"));
  CHECK(known().versions.contains("b"));
}

TEST_CASE_FIXTURE(Fixture, "a server without the stream is listed in pages, from then on") {
  options.stream = true;
  says(answer(
      422,
      R"({"kind":"Status","code":422,"reason":"Invalid","message":"sendInitialEvents is forbidden"})"));
  says(page({thing("a", "1")}, "40"));
  says(kGoneEvent, Fixture::Then::End);
  says(page({thing("a", "50")}, "50"));
  start();
  CHECK(has({{"a", "50"}}));
  const auto targets = asked(5);
  CHECK(targets[1] == "list");
  CHECK(targets[3] == "list");
}

TEST_CASE_FIXTURE(Fixture, "every series is there before the first request") {
  start();
  const std::string text = registry.text();
  for (const char* line :
       {"neuron_observer_watch_events_total{resource=\"things\"} 0\n",
        "neuron_observer_watch_restarts_total{resource=\"things\",reason=\"expired\"} 0\n",
        "neuron_observer_watch_restarts_total{resource=\"things\",reason=\"failed\"} 0\n",
        "neuron_observer_watch_synced{resource=\"things\"} 0\n"}) {
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture, "metrics say what happened") {
  says(page({thing("a", "1")}, "40"));
  says(event("ADDED", thing("b", "41")) + kGoneEvent, Fixture::Then::End);
  says(page({thing("a", "1")}, "50"));
  start();
  asked(4);
  const std::string text = registry.text();
  for (const char* line :
       {"neuron_observer_watch_lists_total{resource=\"things\"} 2\n",
        "neuron_observer_watch_events_total{resource=\"things\"} 1\n",
        "neuron_observer_watch_restarts_total{resource=\"things\",reason=\"expired\"} 1\n",
        "neuron_observer_watch_synced{resource=\"things\"} 1\n",
        "neuron_observer_watch_last_event_timestamp_seconds{resource=\"things\"} "}) {
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture, "stop ends a hanging watch at once") {
  says(page({}, "40"));
  start();
  asked(2);
  const auto began = std::chrono::steady_clock::now();
  thread.request_stop();
  thread.join();
  CHECK(std::chrono::steady_clock::now() - began < 5s);
}

}  // namespace
}  // namespace nobs::runtime
