#include "agent/serve/authorization.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

using namespace nobs;
using namespace std::chrono_literals;
using json::Value;
using serve::Authorization;

namespace {

// The API server as far as the two reviews go.
struct FakeReviews {
  std::atomic<int> asked = 0;
  Value last_access;
  std::function<Result<Value>(const ResourceType&)> fails;

  serve::Review review() {
    return [this](const ResourceType& type, const Value& body,
                  const std::stop_token& stop) -> Result<Value> {
      ++asked;
      CHECK(body["kind"].string_or("") == type.kind);
      if (fails) return fails(type);
      if (stop.stop_requested()) return Error{ErrorCode::Stopped, "stopped", 0, {}};
      const auto& spec = body["spec"];
      if (type.kind == "TokenReview") {
        const std::string token = spec["token"].string_or("");
        if (token != "good" && token != "weak")
          return json::object({{"status", json::object({{"authenticated", false}})}});
        return json::object(
            {{"status", json::object({{"authenticated", true},
                                      {"user", json::object({{"username", token},
                                                             {"groups", json::array({"g"})}})}})}});
      }
      last_access = spec;
      const bool allowed = spec["user"].string_or("") == "good";
      return json::object({{"status", json::object({{"allowed", allowed}})}});
    };
  }
};

struct Guarded {
  FakeReviews api;
  nobs::test::FakeClock clock;
  Authorization authorization{api.review(), clock, {}};
  net::Handler handler = authorization.guard([](const net::Request&) -> net::Answer {
    return {200, {}, "secret"};
  });

  net::Answer ask(const std::string& header, const std::string& target = "/api/v1alpha1/devices") {
    net::Request request{.target = target};
    if (!header.empty()) request.headers.set("Authorization", header);
    return handler(request);
  }
};

}  // namespace

TEST_CASE("without a token the API says which kind it wants, and asks nobody") {
  Guarded guarded;
  for (const auto* header : {"", "Basic Z29vZA==", "Bearer", "Bearer ", "good"}) {
    const auto answer = guarded.ask(header);
    CHECK(answer.status == 401);
    CHECK(answer.headers.find("WWW-Authenticate")->starts_with("Bearer"));
    CHECK(answer.body.find("secret") == std::string::npos);
  }
  net::Request twice{.target = "/api"};
  twice.headers.list = {{"Authorization", "Bearer good"}, {"Authorization", "Bearer bad"}};
  CHECK(guarded.handler(twice).status == 401);
  CHECK(guarded.ask("Bearer " + std::string(9'000, 'a')).status == 401);
  CHECK(guarded.api.asked == 0);
}

TEST_CASE("a token is whose the API server says, and may what RBAC allows for the path") {
  Guarded guarded;
  CHECK(guarded.ask("bearer good", "/api/v1alpha1/devices/3?x=1").status == 200);
  const auto& attributes = guarded.api.last_access["nonResourceAttributes"];
  CHECK(attributes["path"].string_or("") == "/api/v1alpha1/devices/3");
  CHECK(attributes["verb"].string_or("") == "get");
  CHECK(guarded.api.last_access["groups"].items().size() == 1);
  const auto weak = guarded.ask("Bearer weak");
  CHECK(weak.status == 403);
  CHECK(weak.body.find("weak may not get /api/v1alpha1/devices") != std::string::npos);
  const auto unknown = guarded.ask("Bearer forged");
  CHECK(unknown.status == 401);
  CHECK(unknown.body.find("forged") == std::string::npos);
}

TEST_CASE("a verdict is kept for a minute, for this token and this path only") {
  Guarded guarded;
  CHECK(guarded.ask("Bearer good").status == 200);
  CHECK(guarded.api.asked == 2);
  guarded.clock.advance(59s);
  CHECK(guarded.ask("Bearer good", "/api/v1alpha1/devices?x").status == 200);
  CHECK(guarded.api.asked == 2);
  CHECK(guarded.ask("Bearer good", "/api/v1alpha1/faults").status == 200);
  CHECK(guarded.api.asked == 4);
  guarded.clock.advance(2s);
  guarded.api.fails = [](const ResourceType&) {
    return Error{ErrorCode::Unreachable, "connection refused", 0, {}};
  };
  CHECK(guarded.ask("Bearer good").status == 503);
}

TEST_CASE("an API server that cannot be asked lets nobody in, and is asked again") {
  Guarded guarded;
  for (const auto* kind : {"TokenReview", "SubjectAccessReview"}) {
    guarded.api.fails = [&](const ResourceType& type) -> Result<Value> {
      if (type.kind == kind) return Error{ErrorCode::Server, "down", 500, {}};
      return json::object(
          {{"status",
            json::object({{"authenticated", true}, {"user", json::object({{"username", "u"}})}})}});
    };
    const auto answer = guarded.ask("Bearer good");
    CHECK(answer.status == 503);
    CHECK(answer.headers.find("Retry-After") != nullptr);
  }
  guarded.api.fails = [](const ResourceType&) -> Result<Value> { return Value("nonsense"); };
  CHECK(guarded.ask("Bearer good").status == 401);
  guarded.api.fails = {};
  guarded.clock.advance(61s);
  CHECK(guarded.ask("Bearer good").status == 200);
}

TEST_CASE("a silent API server holds at most two requests, each for five seconds") {
  nobs::test::FakeClock clock;
  std::atomic<int> asking = 0;
  Authorization authorization(
      [&](const ResourceType&, const Value&, const std::stop_token& stop) -> Result<Value> {
        ++asking;
        nobs::test::eventually(20s, [&] { return stop.stop_requested(); });
        return Error{ErrorCode::Stopped, "stopped", 0, {}};
      },
      clock, {});
  const auto handler = authorization.guard([](const net::Request&) { return net::Answer(); });
  const auto ask = [&](const std::string& token) {
    net::Request request{.target = "/api"};
    request.headers.set("Authorization", "Bearer " + token);
    return handler(request).status;
  };
  std::atomic<int> refused = 0;
  {
    const std::jthread first([&] { refused += ask("a") == 503 ? 1 : 0; });
    const std::jthread second([&] { refused += ask("b") == 503 ? 1 : 0; });
    REQUIRE(nobs::test::eventually(5s, [&] { return asking == 2 && clock.waiting() == 2; }));
    CHECK(ask("c") == 503);
    CHECK(asking == 2);
    clock.advance(5s);
  }
  CHECK(refused == 2);
}

TEST_CASE("the verdicts of a flood of tokens stay bounded, the newest are kept") {
  Guarded guarded;
  for (int i = 0; i < 300; ++i) {
    guarded.clock.advance(1ms);
    CHECK(guarded.ask("Bearer forged-" + std::to_string(i)).status == 401);
  }
  const int before = guarded.api.asked;
  CHECK(guarded.ask("Bearer forged-299").status == 401);
  CHECK(guarded.ask("Bearer forged-50").status == 401);
  CHECK(guarded.api.asked == before);
  CHECK(guarded.ask("Bearer forged-0").status == 401);
  CHECK(guarded.api.asked == before + 1);
}

TEST_CASE("on a loopback address only local names are answered: a browser may be led here") {
  const auto handler =
      serve::only_local_hosts([](const net::Request&) { return net::Answer(200, {}, ""); });
  const auto status = [&](const std::string& host) {
    net::Request request;
    request.headers.set("Host", host);
    return handler(request).status;
  };
  for (const auto* host : {"localhost", "LOCALHOST:7001", "127.0.0.1", "127.0.0.1:7001", "[::1]",
                           "[::1]:7001", "127.9.9.9"})
    CHECK(status(host) == 200);
  for (const auto* host :
       {"", "evil.example", "evil.example:7001", "127.bad.de", "127.0.0.1.evil.io",
        "localhost.evil.io", "10.0.0.1", "[::2]", "[", ":", "0.0.0.0"})
    CHECK(status(host) == 421);
  for (const auto* address : {"127.0.0.1", "127.1.2.3", "::1"}) CHECK(serve::is_loopback(address));
  for (const auto* address : {"0.0.0.0", "::", "10.0.0.1", "12.7.0.1"})
    CHECK_FALSE(serve::is_loopback(address));
}

TEST_CASE("SHA-256 is that of FIPS 180-4") {
  const auto hex = [](std::string_view text) {
    std::string digits;
    for (const auto byte : net::sha256(text)) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", byte);
      digits += two;
    }
    return digits;
  };
  CHECK(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
