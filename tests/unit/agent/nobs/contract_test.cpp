// nobs against the API that the agent of this version serves: both speak the same words.
#include <doctest/doctest.h>
#include <signal.h>

#include "agent/serve/api.h"
#include "agent/serve/routes.h"
#include "tests/scenarios/process.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/unit/agent/serve/reports.h"

using namespace nobs;
using namespace nobs::serve::test;
using namespace std::chrono_literals;
using nobs::test::Process;

namespace {

struct Served {
  nobs::test::Directory place;
  serve::Board board{WallTime(1s)};
  metrics::Registry registry;
  net::Server server{{.address = "", .unix_socket = place.path("agent.sock")},
                     serve::routes(registry, {[] { return true; }, [] { return true; }},
                                   serve::api(board, {.node = "node-a"}))};

  Served() {
    registry.gauge("things", "Things.").set(5);
    REQUIRE(server.start());
  }
  std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.begin(), NOBS_PROGRAM);
    words.push_back("--socket=" + place.path("agent.sock"));
    return words;
  }
  // The output of both streams; checks the exit code.
  std::string run(std::vector<std::string> words, int code) const {
    const std::string log = place.path("log-" + words[0] + std::to_string(words.size()));
    Process process(command(std::move(words)), log);
    CHECK(process.wait(30s) == code);
    return process.output();
  }
};

}  // namespace

TEST_CASE("nobs shows whole what this agent answers") {
  Served served;
  CHECK(served.run({"status"}, 2).find("not ready: the first cycle is not over yet") !=
        std::string::npos);
  served.board.post(shared(report()), {});
  const auto has = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const auto* part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(served.run({"status"}, 1),
      {"Node     node-a (trn2.48xlarge)\n", "Driver   2.30.2.0, layout A, live\n",
       "3 of 3: 1 healthy, 1 unhealthy, 1 unknown", "action ReplaceNode"});
  has(served.run({"devices", "-o=wide"}, 1),
      {"neuron1  unhealthy  HBMUncorrectable  ReplaceNode  1 ", "7          00000000000000a1  ",
       "Trainium2  1      96.0G", "ReadTimeout", "mem_ecc_uncorrected 0 -> 1\n"});
  has(served.run({"devices", "0"}, 0), {"neuron0  healthy"});
  has(served.run({"devices", "7"}, 3), {"there is no device 7 on this node"});
  has(served.run({"faults", "-o=wide"}, 1), {"neuron1  HBMUncorrectable  Fatal     ReplaceNode  1 ",
                                             "HbmUncorrectedRose", "yes       00000000000000a1"});
  has(served.run({"faults", "--severity=Warning", "--class=CollectivesHang"}, 0),
      {"CollectivesHang  Warning"});
  has(served.run({"faults", "--class=Nonsense"}, 3), {"accepted are the fault classes"});
  has(served.run({"metrics", "things"}, 0), {"5      things\n"});
}

TEST_CASE("nobs watch follows this agent's events") {
  Served served;
  served.board.post(shared(report()), {});
  Process watch(served.command({"watch"}), served.place.path("watch"));
  std::uint64_t version = 8;
  REQUIRE(nobs::test::eventually(20s, [&] {  // until it listens
    served.board.post(shared(report(version++)), {began(1)});
    return watch.output().find("FaultBegan  neuron1: HBMUncorrectable began") != std::string::npos;
  }));
  watch.signal(SIGINT);
  CHECK(watch.wait(5s) == 0);
}
