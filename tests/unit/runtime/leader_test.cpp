#include "shared/runtime/leader.h"

#include <doctest/doctest.h>

#include <map>
#include <thread>

#include "shared/base/rfc3339.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/runtime/scripted_api.h"

namespace nobs::runtime {
namespace {

using namespace std::chrono_literals;
using json::Value;

// One Lease behind an API, with faults by user agent.
struct LeaseApi {
  enum class Fault { None, Refused, Hangs, AnswerLost };

  std::mutex mutex;
  Value lease;  // null: there is none
  int version = 0;
  std::map<std::string, Fault> faults;
  std::vector<Value> specs;  // as written, in order
  ScriptedApi api{[this](const net::Request& request) { return handle(request); }};

  Fault fault_of(const std::string& user_agent) {
    const std::lock_guard lock(mutex);
    return faults[user_agent];
  }
  void set_fault(const std::string& user_agent, Fault fault) {
    const std::lock_guard lock(mutex);
    faults[user_agent] = fault;
  }

  net::Answer handle(const net::Request& request) {
    const std::string who = *request.headers.find("User-Agent");
    const Fault fault = fault_of(who);
    if (fault == Fault::Hangs) {
      api.until_over([&] { return fault_of(who) != Fault::Hangs; });
      return {0, {}, ""};
    }
    if (fault == Fault::Refused) return answer(503);
    auto result = serve(request);
    if (fault == Fault::AnswerLost) result.status = 0;
    return result;
  }

  net::Answer serve(const net::Request& request) {
    const std::lock_guard lock(mutex);
    const bool is_there = !lease.is_null();
    if (request.method == "GET") return is_there ? answer(200, json::dump(lease)) : answer(404);
    if (request.method == "POST" && is_there) return answer(409, R"({"reason":"AlreadyExists"})");
    if (request.method == "PUT" && !is_there) return answer(404);
    auto body = json::parse(request.body);
    if (!body) return answer(400);
    const Value& sent = *body;
    if (request.method == "PUT" && sent["metadata"]["resourceVersion"] !=
                                       std::as_const(lease)["metadata"]["resourceVersion"]) {
      return answer(409, R"({"reason":"Conflict"})");
    }
    store(sent);
    return answer(request.method == "POST" ? 201 : 200, json::dump(lease));
  }
  void store(const Value& newest) {
    lease = newest;
    lease["metadata"]["resourceVersion"] = std::to_string(++version);
    specs.push_back(newest["spec"]);
  }

  Value spec() {
    const std::lock_guard lock(mutex);
    return std::as_const(lease)["spec"];
  }
  std::string holder() { return spec()["holderIdentity"].string_or("(none)"); }
  size_t writes() {
    const std::lock_guard lock(mutex);
    return specs.size();
  }
  // As a person would, with kubectl.
  void edit(const std::string& key, Value value) {
    const std::lock_guard lock(mutex);
    Value changed = lease;
    changed["spec"][key] = std::move(value);
    store(changed);
  }
  void drop() {
    const std::lock_guard lock(mutex);
    lease = {};
  }
};

// The same steady time for all, another wall time for each. Knows until when its replica waits: as a whole, or for an
// answer.
struct SkewedClock : Clock {
  SkewedClock(test::FakeClock& clock_, std::chrono::hours skew_) : clock(clock_), skew(skew_) {}
  WallTime now() const override { return clock.now() + skew.load(); }
  SteadyTime steady() const override { return clock.steady(); }
  bool wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    auto& until = std::this_thread::get_id() == elector ? idle_until : answer_until;
    until = steady() + duration;
    const bool is_over = clock.wait_for(duration, stop);
    until = SteadyTime();
    return is_over;
  }
  test::FakeClock& clock;
  std::atomic<std::chrono::hours> skew;
  std::thread::id elector;
  std::atomic<SteadyTime> idle_until{}, answer_until{};
};

struct Replica {
  Replica(LeaseApi& server, test::FakeClock& shared, const std::string& name_,
          std::chrono::hours skew = 0h)
      : name(name_),
        clock(shared, skew),
        client(server.api.config(), name, clock),
        logger({.component = "test",
                .now = {},
                .sink = [this](std::string_view line) { lines.emplace_back(line); }}),
        elector(
            client, clock, [] { return 0.0; }, logger,
            {.ns = "ns", .name = "lease", .identity = name}, registry),
        thread([this](const std::stop_token& stop) {
          clock.elector = std::this_thread::get_id();
          try {
            elector.run(stop, [this](const std::stop_token& leading) { lead(leading); });
          } catch (const std::exception& error) {
            thrown = error.what();
          }
          is_over = true;
        }) {}

  void lead(const std::stop_token& leading) {
    ++terms;
    is_acting = true;
    test::eventually(60s, [&] { return leading.stop_requested() || must_return || must_throw; });
    test::eventually(60s, [&] { return !must_linger; });
    is_acting = false;
    if (must_throw) throw std::runtime_error("lead failed");
  }
  void stop() {
    thread.request_stop();
    thread.join();
  }
  int logged(const std::string& message) {  // after stop()
    int count = 0;
    for (const auto& line : lines) {
      if (line.find("\"msg\":\"" + message + "\"") != std::string::npos) ++count;
    }
    return count;
  }

  const std::string name;
  SkewedClock clock;
  kube::Client client;
  std::vector<std::string> lines;
  log::Logger logger;
  metrics::Registry registry;
  LeaderElector elector;
  std::atomic<int> terms = 0;
  std::atomic<bool> is_acting = false, must_return = false, must_throw = false, must_linger = false,
                    is_over = false;
  std::string thrown;
  std::jthread thread;
};

struct Fixture {
  LeaseApi server;
  test::FakeClock clock;
  std::vector<Replica*> replicas;
  bool two_acted = false;

  // Lets time pass in small steps, each once nobody has anything to do; true when `condition` came true.
  template <typename Condition>
  bool within(std::chrono::seconds limit, const Condition& condition) {
    for (auto passed = 0ms; passed <= limit; passed += 250ms) {
      test::eventually(2s, [&] { return is_quiet(); });
      int acting = 0;
      for (const auto* replica : replicas) acting += replica->elector.may_act() ? 1 : 0;
      if (acting > 1) two_acted = true;
      if (condition()) return true;
      clock.advance(250ms);
    }
    return false;
  }
  bool is_quiet() {
    const SteadyTime now = clock.steady();
    for (auto* replica : replicas) {
      const bool is_idle = replica->clock.idle_until.load() > now;
      const bool hangs = server.fault_of(replica->name) == LeaseApi::Fault::Hangs &&
                         replica->clock.answer_until.load() > now;
      if (!is_idle && !hangs) return false;
      if (replica->is_acting != replica->elector.is_leader()) return false;
    }
    return true;
  }
  void pass(std::chrono::seconds time) {
    within(time, [] { return false; });
  }
};

TEST_CASE("durations that do not fit each other are refused") {
  LeaderOptions options{.ns = "ns", .name = "lease", .identity = "a"};
  CHECK(LeaderElector::check(options));
  options.renew_deadline = 15s;
  CHECK(LeaderElector::check(options).error().message.find("15s") != std::string::npos);
  options.renew_deadline = 2s;
  CHECK_FALSE(LeaderElector::check(options));
  options = {.ns = "ns", .name = "lease"};
  CHECK_FALSE(LeaderElector::check(options));
}

TEST_CASE_FIXTURE(Fixture, "the first replica makes the lease, leads, renews, and gives it back") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  CHECK(a.elector.is_leader());
  CHECK(a.elector.may_act());
  CHECK(a.registry.text().find("neuron_observer_leader 1\n") != std::string::npos);
  const Value first = server.spec();
  CHECK(first["holderIdentity"] == Value("a"));
  CHECK(first["leaseDurationSeconds"] == Value(15));
  CHECK(first["leaseTransitions"] == Value(0));
  CHECK(first["renewTime"].string_or("").size() ==
        std::string("2026-11-30T12:00:00.000000Z").size());
  pass(60s);
  CHECK(a.elector.is_leader());
  CHECK(a.terms == 1);
  const Value renewed = server.spec();
  CHECK(renewed["acquireTime"] == first["acquireTime"]);
  CHECK(renewed["renewTime"] != first["renewTime"]);
  CHECK(renewed["leaseTransitions"] == Value(0));

  a.stop();
  CHECK(server.holder().empty());
  CHECK(server.spec()["leaseDurationSeconds"] == Value(1));
  CHECK_FALSE(a.elector.is_leader());
  CHECK_FALSE(a.elector.may_act());
  CHECK_FALSE(a.is_acting);
  CHECK(a.logged("leading") == 1);
  CHECK(a.logged("no longer leading") == 1);
  CHECK(a.lines[0].find("\"identity\":\"a\"") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the idle leader costs one request each retry period") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  const size_t before = server.api.targets().size();
  pass(60s);
  CHECK(server.api.targets().size() - before <= 31);
}

TEST_CASE_FIXTURE(Fixture, "a lease given back is taken at the next try, not after its duration") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  Replica b(server, clock, "b");
  replicas = {&a, &b};
  pass(10s);
  CHECK(b.terms == 0);
  a.stop();
  replicas = {&b};
  CHECK(within(4s, [&] { return b.is_acting.load(); }));
  CHECK(b.elector.term() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a leader that cannot renew stops before its lease ends; never two act") {
  LeaseApi::Fault fault{};
  SUBCASE("the API refuses") { fault = LeaseApi::Fault::Refused; }
  SUBCASE("the API hangs") { fault = LeaseApi::Fault::Hangs; }
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  Replica b(server, clock, "b");
  replicas = {&a, &b};
  pass(5s);
  server.set_fault("a", fault);
  const auto frozen = clock.steady();
  REQUIRE(within(14s, [&] { return !a.elector.may_act() && !a.is_acting; }));
  CHECK(clock.steady() - frozen <= 11s);
  CHECK(b.terms == 0);
  REQUIRE(within(20s, [&] { return b.is_acting.load(); }));
  CHECK(clock.steady() - frozen >= 12s);  // the last renewal was at most 2 s old
  CHECK(server.holder() == "b");

  server.set_fault("a", LeaseApi::Fault::None);
  pass(30s);
  CHECK_FALSE(a.elector.is_leader());
  CHECK(a.terms == 1);
  CHECK(b.elector.may_act());
  CHECK_FALSE(two_acted);
}

TEST_CASE_FIXTURE(Fixture, "may_act ends by the clock alone, however slow everything else is") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  server.set_fault("a", LeaseApi::Fault::Hangs);
  clock.advance(10s);
  CHECK_FALSE(a.elector.may_act());
  server.set_fault("a", LeaseApi::Fault::None);
}

TEST_CASE_FIXTURE(Fixture, "short outages of the API are no change of leader") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  for (int i = 0; i < 3; ++i) {
    server.set_fault("a", LeaseApi::Fault::Refused);
    pass(5s);
    server.set_fault("a", LeaseApi::Fault::None);
    pass(5s);
  }
  CHECK(a.terms == 1);
  CHECK(a.elector.may_act());
}

TEST_CASE_FIXTURE(Fixture, "a renewal whose answer was lost is still ours") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  server.set_fault("a", LeaseApi::Fault::AnswerLost);
  pass(3s);
  server.set_fault("a", LeaseApi::Fault::None);
  pass(20s);
  CHECK(a.terms == 1);
  CHECK(a.elector.may_act());
}

TEST_CASE_FIXTURE(Fixture, "wall clocks that are wrong by days, or jump, change nothing") {
  Replica a(server, clock, "a", 48h);
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  Replica b(server, clock, "b", -48h);
  replicas = {&a, &b};
  pass(20s);
  a.clock.skew = -100h;
  b.clock.skew = 100h;
  pass(40s);
  CHECK(a.elector.may_act());
  CHECK(a.terms == 1);
  CHECK(b.terms == 0);
}

TEST_CASE_FIXTURE(Fixture, "a deleted lease is made again by its leader, in the same term") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  Replica b(server, clock, "b");
  replicas = {&a, &b};
  pass(5s);
  server.drop();
  pass(20s);
  CHECK(server.holder() == "a");
  CHECK(a.terms == 1);
  CHECK(b.terms == 0);
  CHECK_FALSE(two_acted);
}

TEST_CASE_FIXTURE(Fixture,
                  "a lease deleted while its leader is away is taken when it would have ended") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  Replica b(server, clock, "b");
  replicas = {&a, &b};
  pass(5s);
  server.set_fault("a", LeaseApi::Fault::Refused);
  server.drop();
  REQUIRE(within(25s, [&] { return b.is_acting.load(); }));
  CHECK_FALSE(two_acted);
  CHECK(b.elector.term() == 1);  // rises although the lease is new
}

TEST_CASE_FIXTURE(Fixture, "a leader that finds another holder stops at once") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  server.edit("holderIdentity", "somebody");
  REQUIRE(within(3s, [&] { return !a.elector.may_act() && !a.is_acting; }));
  CHECK(server.holder() == "somebody");
  // Who never renews loses it, by our own clock.
  CHECK(within(20s, [&] { return a.is_acting.load(); }));
  CHECK(a.elector.term() == 1);
}

TEST_CASE_FIXTURE(Fixture, "who lost the lease may not act, even while its last work is ending") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  a.must_linger = true;
  server.edit("holderIdentity", "somebody");
  clock.advance(2s);
  CHECK(test::eventually(5s, [&] { return !a.elector.may_act(); }));
  CHECK(a.is_acting);
  a.must_linger = false;
}

TEST_CASE_FIXTURE(Fixture, "replicas that start together end with one leader") {
  Replica a(server, clock, "a");
  Replica b(server, clock, "b");
  Replica c(server, clock, "c");
  replicas = {&a, &b, &c};
  pass(30s);
  CHECK(a.is_acting + b.is_acting + c.is_acting == 1);
  CHECK(a.terms + b.terms + c.terms == 1);
  CHECK_FALSE(two_acted);
}

TEST_CASE_FIXTURE(Fixture,
                  "a replica that starts again under its name leads at once, in a new term") {
  {
    Replica a(server, clock, "a");
    replicas = {&a};
    REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
    server.set_fault("a", LeaseApi::Fault::Refused);  // dies without giving back
    a.stop();
  }
  server.set_fault("a", LeaseApi::Fault::None);
  Replica again(server, clock, "a");
  replicas = {&again};
  CHECK(within(1s, [&] { return again.is_acting.load(); }));
  CHECK(again.elector.term() == 1);
}

TEST_CASE_FIXTURE(Fixture, "who stops leading by itself gives the lease back") {
  Replica a(server, clock, "a");
  replicas = {&a};
  REQUIRE(within(5s, [&] { return a.is_acting.load(); }));
  SUBCASE("by returning") {
    a.must_return = true;
    CHECK(test::eventually(5s, [&] { return server.holder().empty(); }));
    CHECK_FALSE(a.is_over);
  }
  SUBCASE("by throwing, which run() throws on") {
    a.must_throw = true;
    CHECK(test::eventually(5s, [&] { return a.is_over.load(); }));
    CHECK(server.holder().empty());
    CHECK(a.thrown == "lead failed");
  }
}

TEST_CASE_FIXTURE(Fixture, "a lease that makes no sense is survived") {
  server.lease = *json::parse(R"({"metadata":{"resourceVersion":"1"},"spec":7})");
  Replica a(server, clock, "a");
  replicas = {&a};
  CHECK(within(5s, [&] { return a.is_acting.load(); }));
}

TEST_CASE_FIXTURE(Fixture, "stop ends a campaign that hangs") {
  server.set_fault("a", LeaseApi::Fault::Hangs);
  Replica a(server, clock, "a");
  REQUIRE(test::eventually(5s, [&] { return !server.api.targets().empty(); }));
  a.stop();
  CHECK(a.terms == 0);
}

}  // namespace
}  // namespace nobs::runtime
