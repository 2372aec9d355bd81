#include "shared/net/client.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <zlib.h>

#include <vector>

#include "tests/support/eventually.h"
#include "tests/unit/net/raw.h"

using namespace nobs;
using namespace nobs::net;
using namespace std::chrono_literals;
using nobs::test::eventually;
using nobs::test::RawServer;
using nobs::test::Talk;

namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr auto kForever = 600s;  // a test that waits for this has failed
constexpr Limits kPatient{.total = kForever, .silence = kForever};

// A server that reads one request, says `bytes` and closes.
RawServer::Script says(std::string bytes) {
  return [bytes = std::move(bytes)](Talk& talk, int) {
    talk.request();
    talk.send(bytes);
  };
}

ErrorCode code_of(const Result<Response>& result) {
  REQUIRE_FALSE(result);
  return result.error().code;
}

struct Streamed {
  Result<Response> result;
  int status = 0;
  std::string body;
};
Streamed stream(const RawServer& server, const Limits& limits, const Request& request = {}) {
  Client client(server.endpoint());
  int status = 0;
  std::string body;
  auto result = client.stream(
      request, limits, {}, [&](const Response& head) { return (status = head.status) > 0; },
      [&](std::string_view piece) { return !body.append(piece).empty(); });
  return {std::move(result), status, body};
}

std::string gzip(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string with_length(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// Starts `call` on a thread, asks it to stop once `busy()`, and says what came of it.
template <typename Call, typename Busy>
ErrorCode stopped_while(const Call& call, const Busy& busy) {
  std::stop_source stop;
  ErrorCode code{};
  std::jthread thread([&] { code = code_of(call(stop.get_token())); });
  CHECK(eventually(10s, busy));
  const auto asked = std::chrono::steady_clock::now();
  stop.request_stop();
  thread.join();
  CHECK(std::chrono::steady_clock::now() - asked < 5s);
  return code;
}

}  // namespace

TEST_CASE("a request arrives as written, with the headers that HTTP needs") {
  std::string seen;
  RawServer server([&](Talk& talk, int) {
    seen = talk.request();
    talk.send(kOk);
    talk.rest();
  });
  Client client(server.endpoint());
  const auto answer = client.send({.method = "PATCH",
                                   .target = "/a%2Fb?c=d+e",
                                   .headers = {{{"Content-Type", "application/merge-patch+json"}}},
                                   .body = "{}"},
                                  {}, {});
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "ok");
  CHECK(seen == "PATCH /a%2Fb?c=d+e HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                    "\r\nContent-Type: application/merge-patch+json\r\nUser-Agent: "
                    "neuron-observer\r\nContent-Length: 2\r\n\r\n{}");
}

TEST_CASE("a header or target that would inject a line is refused before anything is sent") {
  RawServer server(says(kOk));
  Client client(server.endpoint());
  const auto code = [&](Request request) { return code_of(client.send(request, {}, {})); };
  using namespace std::string_literals;
  for (const std::string& evil : {"a\r\nEvil: 1"s, "a\nb"s, "a\rb"s, "a\0b"s}) {
    CAPTURE(evil);
    CHECK(code({.headers = {{{"X", evil}}}}) == ErrorCode::Invalid);
    CHECK(code({.headers = {{{evil, "x"}}}}) == ErrorCode::Invalid);
    CHECK(code({.target = "/" + evil}) == ErrorCode::Invalid);
    CHECK(code({.method = evil}) == ErrorCode::Invalid);
  }
  CHECK(code({.target = "/a b"}) == ErrorCode::Invalid);
  CHECK(code({.target = "http://elsewhere/"}) == ErrorCode::Invalid);
  CHECK(code({.headers = {{{"Content-Length", "0"}}}}) == ErrorCode::Invalid);
  CHECK(code({.headers = {{{"transfer-encoding", "chunked"}}}}) == ErrorCode::Invalid);
  const auto refused = client.send({.headers = {{{"Authorization", "Bearer s3cret\n"}}}}, {}, {});
  CHECK(refused.error().message.find("s3cret") == std::string::npos);
  CHECK(server.connections() == 0);
}

TEST_CASE("a redirect is an answer like any other, so that no token follows it elsewhere") {
  RawServer elsewhere(says(kOk));
  RawServer server(says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" +
                        std::to_string(elsewhere.port()) + "/\r\nContent-Length: 0\r\n\r\n"));
  const auto answer =
      Client(server.endpoint()).send({.headers = {{{"Authorization", "Bearer x"}}}}, {}, {});
  REQUIRE(answer);
  CHECK(answer->status == 302);
  CHECK(elsewhere.connections() == 0);
}

TEST_CASE("calls share a connection as long as the server keeps it") {
  RawServer server([](Talk& talk, int) {
    while (!talk.request().empty()) talk.send(kOk);
  });
  Client client(server.endpoint());
  for (int i = 0; i < 5; ++i) CHECK(client.send({}, {}, {}));
  CHECK(server.connections() == 1);
  Client forgetful(server.endpoint(), 0);
  for (int i = 0; i < 2; ++i) CHECK(forgetful.send({}, {}, {}));
  CHECK(server.connections() == 3);
}

TEST_CASE("many threads share one client") {
  RawServer server([](Talk& talk, int) {
    for (std::string request; !(request = talk.request()).empty();)
      talk.send(with_length(request.substr(request.size() - 3)));
  });
  Client client(server.endpoint(), 2);
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        for (int call = 0; call < 10; ++call) {
          const std::string body = std::to_string(100 + i * 10 + call);
          const auto answer = client.send({.method = "POST", .body = body}, kPatient, {});
          right += answer && answer->body == body;
        }
      });
  }
  CHECK(right == 80);
}

TEST_CASE(
    "a connection that the server closed while it was idle is not used again, even for a POST") {
  std::atomic<int> closed{0};
  RawServer server([&](Talk& talk, int) {
    talk.request();
    talk.send(kOk);
    talk.close_write();
    ++closed;
    talk.rest();
  });
  Client client(server.endpoint());
  for (int i = 1; i <= 3; ++i) {
    CHECK(client.send({.method = "POST"}, {}, {}));
    REQUIRE(eventually(10s, [&] { return closed == i; }));
  }
  CHECK(server.connections() == 3);
}

TEST_CASE("a GET that dies on a kept connection is tried once more, a POST is not") {
  RawServer server([](Talk& talk, int) {  // answers once, then takes a request and hangs up
    talk.request();
    talk.send(kOk);
    talk.request();
  });
  Client client(server.endpoint());
  CHECK(client.send({}, {}, {}));
  CHECK(client.send({}, {}, {}));
  CHECK(server.connections() == 2);
  CHECK(code_of(client.send({.method = "POST"}, {}, {})) == ErrorCode::Unreachable);
  CHECK(server.connections() == 2);
  RawServer dead([](Talk& talk, int) { talk.request(); });
  CHECK(code_of(Client(dead.endpoint()).send({}, {}, {})) == ErrorCode::Unreachable);
  CHECK(dead.connections() == 1);
}

TEST_CASE("an answer that ends early is an error, and never half a body") {
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\n", ""}) {
    CAPTURE(bytes);
    RawServer server(says(bytes));
    CHECK(code_of(Client(server.endpoint()).send({}, {}, {})) == ErrorCode::Unreachable);
    CHECK(code_of(stream(server, {}).result) == ErrorCode::Unreachable);
  }
}

TEST_CASE(
    "a body without a length ends when the peer closes, which plain TCP cannot tell from a cut") {
  RawServer server(says("HTTP/1.1 200 OK\r\n\r\nall or half"));
  const auto answer = Client(server.endpoint()).send({}, {}, {});
  REQUIRE(answer);
  CHECK(answer->body == "all or half");
}

TEST_CASE("answers that never have a body, and interim ones, are understood") {
  RawServer server([](Talk& talk, int) {
    talk.request();
    talk.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk);
    talk.request();
    talk.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    talk.request();
    talk.send("HTTP/1.1 204 No Content\r\n\r\n");
    talk.request();
    talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: x\r\n\r\n");
    talk.rest();
  });
  Client client(server.endpoint());
  CHECK(client.send({}, {}, {})->body == "ok");
  CHECK(client.send({.method = "HEAD"}, {}, {})->status == 200);
  CHECK(client.send({.method = "DELETE"}, {}, {})->status == 204);
  CHECK(client.send({}, {}, {})->body == "ok");
  CHECK(server.connections() == 1);
}

TEST_CASE("a server that trickles cannot hold a call beyond its total time") {
  for (const char* start : {"", "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"}) {
    RawServer server([start](Talk& talk, int) {
      talk.request();
      talk.send(start);
      do std::this_thread::sleep_for(1ms);  // the pace of the trickle, not a wait for something
      while (talk.send("x"));
    });
    const auto result = Client(server.endpoint()).send({}, {.total = 300ms}, {});
    CHECK(code_of(result) == ErrorCode::Timeout);
    // In a stream a drop of the body is a sign of life, a drop of the head is not.
    if (*start == '\0')
      CHECK(code_of(stream(server, {.silence = 300ms}).result) == ErrorCode::Timeout);
  }
}

TEST_CASE("a fast endless answer ends at the limits too: of time, of the body, of the head") {
  const auto floods = [](std::string start, std::string piece) {
    return [start = std::move(start), piece = std::move(piece)](Talk& talk, int) {
      talk.request();
      talk.send(start);
      while (talk.send(piece)) {
      }
    };
  };
  const std::string chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  RawServer body(floods(chunked, chunk));
  CHECK(code_of(Client(body.endpoint()).send({}, {.total = kForever, .max_body = 1U << 20}, {})) ==
        ErrorCode::Rejected);
  CHECK(code_of(Client(body.endpoint()).send({}, {.total = 300ms, .max_body = SIZE_MAX}, {})) ==
        ErrorCode::Timeout);
  RawServer line(floods("HTTP/1.1 200 OK\r\nX: ", std::string(0x4000, 'x')));
  CHECK(code_of(Client(line.endpoint()).send({}, kPatient, {})) == ErrorCode::Unreachable);
  RawServer interim(floods("", "HTTP/1.1 100 Continue\r\n\r\n"));
  CHECK(code_of(Client(interim.endpoint()).send({}, kPatient, {})) == ErrorCode::Unreachable);
}

TEST_CASE(
    "a stream gives its head before the body, survives while pieces come, and ends in silence") {
  std::atomic<bool> head_seen{false};
  RawServer server([&](Talk& talk, int) {
    talk.request();
    talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (!eventually(10s, [&] { return head_seen.load(); })) return;
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(150ms);  // together longer than the silence that is allowed
      talk.send("2\r\nab\r\n");
    }
    talk.rest();
  });
  Client client(server.endpoint());
  std::string body;
  const auto result = client.stream(
      {}, {.silence = 600ms}, {},
      [&](const Response& head) {
        head_seen = true;
        return head.status == 200;
      },
      [&](std::string_view piece) { return body += piece, true; });
  CHECK(code_of(result) == ErrorCode::Timeout);
  CHECK(body == "ababababab");
}

TEST_CASE("a stream ends when its receiver says so, and a whole one is a success") {
  RawServer server(says(with_length("body")));
  Client client(server.endpoint());
  const auto no = [](const auto&) { return false; };
  const auto yes = [](const auto&) { return true; };
  CHECK(code_of(client.stream({}, {}, {}, no, yes)) == ErrorCode::Stopped);
  CHECK(code_of(client.stream({}, {}, {}, yes, no)) == ErrorCode::Stopped);
  const auto whole = stream(server, {});
  REQUIRE(whole.result);
  CHECK(whole.status == 200);
  CHECK(whole.body == "body");
  CHECK(whole.result->body.empty());
}

TEST_CASE("a stop ends a call and a stream at once, silent or busy, and one that came first wins") {
  std::atomic<int> requests{0};
  RawServer silent([&](Talk& talk, int) {
    talk.request();
    ++requests;
    talk.rest();
  });
  Client client(silent.endpoint());
  CHECK(stopped_while([&](auto stop) { return client.send({}, kPatient, stop); },
                      [&] { return requests == 1; }) == ErrorCode::Stopped);
  const auto yes = [](const auto&) { return true; };
  CHECK(stopped_while([&](auto stop) { return client.stream({}, kPatient, stop, yes, yes); },
                      [&] { return requests == 2; }) == ErrorCode::Stopped);
  RawServer busy([](Talk& talk, int) {
    talk.request();
    talk.send("HTTP/1.1 200 OK\r\n\r\n");
    while (talk.send(std::string(4096, 'x'))) {
    }
  });
  Client to_busy(busy.endpoint());
  std::atomic<int> pieces{0};
  const auto count = [&](std::string_view) { return ++pieces, true; };
  CHECK(stopped_while([&](auto stop) { return to_busy.stream({}, kPatient, stop, yes, count); },
                      [&] { return pieces > 3; }) == ErrorCode::Stopped);
  std::stop_source already;
  already.request_stop();
  CHECK(code_of(client.send({}, kPatient, already.get_token())) == ErrorCode::Stopped);
}

TEST_CASE("a stop ends a connect and a TLS handshake that nobody answers") {
  const UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(full.get(), generic, size) == 0);
  REQUIRE(::listen(full.get(), 0) == 0);
  REQUIRE(::getsockname(full.get(), generic, &size) == 0);
  std::vector<UniqueFd> fillers;
  for (int i = 0; i < 4; ++i) {  // the backlog is full after these; further SYNs are dropped
    fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fillers.back().get(), generic, size);
  }
  Client client({.host = "127.0.0.1", .port = ntohs(address.sin_port)});
  const Limits limits{.connect = kForever, .total = kForever};
  CHECK(stopped_while([&](auto stop) { return client.send({}, limits, stop); },
                      [] { return true; }) == ErrorCode::Stopped);
  CHECK(code_of(client.send({}, {.connect = 100ms, .total = kForever}, {})) == ErrorCode::Timeout);

  RawServer mute([](Talk& talk, int) { talk.rest(); });
  auto endpoint = mute.endpoint();
  endpoint.tls.emplace();
  Client tls(endpoint);
  CHECK(stopped_while([&](auto stop) { return tls.send({}, limits, stop); },
                      [&] { return mute.connections() == 1; }) == ErrorCode::Stopped);
  CHECK(code_of(tls.send({}, {.connect = 100ms}, {})) == ErrorCode::Timeout);
}

TEST_CASE("names are resolved, and what cannot be reached is said to be so") {
  RawServer server(says(kOk));
  CHECK(Client({.host = "localhost", .port = server.port()}).send({}, {}, {}));
  CHECK(code_of(Client({.host = "127.0.0.1", .port = 1}).send({}, {}, {})) ==
        ErrorCode::Unreachable);
  CHECK(code_of(Client({.unix_socket = "/nonexistent/socket"}).send({}, {}, {})) ==
        ErrorCode::Unreachable);
  CHECK(code_of(Client({.unix_socket = std::string(200, 'x')}).send({}, {}, {})) ==
        ErrorCode::Invalid);
}

TEST_CASE("gzip is decoded when the request asked for it, and left alone when not") {
  const std::string text(100'000, 'z');
  const std::string coding = "Content-Encoding: gzip\r\n";
  const Request asks{.headers = {{{"Accept-Encoding", "gzip"}}}};
  RawServer server(says(with_length(gzip(text) + gzip("second member"), coding)));
  const auto decoded = Client(server.endpoint()).send(asks, {}, {});
  REQUIRE(decoded);
  CHECK(decoded->body == text + "second member");
  CHECK(decoded->headers.find("Content-Encoding") == nullptr);
  CHECK(stream(server, {}, asks).body == text + "second member");
  CHECK(Client(server.endpoint()).send({}, {}, {})->body == gzip(text) + gzip("second member"));
  // A bomb is measured as it unfolds.
  CHECK(code_of(Client(server.endpoint()).send(asks, {.max_body = 50'000}, {})) ==
        ErrorCode::Rejected);
  for (const std::string& broken : {gzip(text).substr(0, 60), std::string("not gzip")}) {
    RawServer bad(says(with_length(broken, coding)));
    CHECK(code_of(Client(bad.endpoint()).send(asks, {}, {})) == ErrorCode::Unreachable);
  }
}

TEST_CASE("a server that refuses a large body before it has read it is heard") {
  RawServer server([](Talk& talk, int) {
    talk.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    talk.close_write();
    // Closes with unread bytes: the client's write fails.
  });
  const auto answer =
      Client(server.endpoint())
          .send({.method = "POST", .body = std::string(8U << 20, 'x')}, kPatient, {});
  REQUIRE(answer);
  CHECK(answer->status == 413);
}
