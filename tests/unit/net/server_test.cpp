#include "shared/net/server.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "shared/net/client.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/unit/net/certificates.h"
#include "tests/unit/net/raw.h"

using namespace nobs;
using namespace nobs::net;
using namespace std::chrono_literals;
using nobs::test::ask;
using nobs::test::connect_to;
using nobs::test::Directory;
using nobs::test::eventually;
using nobs::test::Talk;

namespace {

constexpr auto kForever = 600s;  // a test that waits for this has failed
const std::string kHealthz = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

Answer ok(const Request& /*request*/) { return {200, {}, "ok"}; }

struct Started {
  Started(ServerOptions options, Handler handler) : server(options, std::move(handler)) {
    const auto started = server.start();
    REQUIRE_MESSAGE(started, started.error().message);
  }
  int port() const { return server.port(); }
  Client client() const { return Client({.host = "127.0.0.1", .port = server.port()}); }
  Server server;
};

int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}

bool is_healthy(int port) { return ask(port, kHealthz).ends_with("\r\n\r\nok"); }

size_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      size_t kb = 0;
      status >> kb;
      return kb;
    }
  return 0;
}

// A stream that says "tick" once and then asks whether it may go on, until it may not.
Answer endless(std::atomic<int>& running) {
  Answer answer(200, {}, "");
  answer.stream = [&running](const Writer& write) {
    ++running;
    for (bool on = write("tick"); on; on = write("")) std::this_thread::sleep_for(5ms);
    --running;
  };
  return answer;
}

}  // namespace

TEST_CASE("a request arrives as it was sent, and its answer goes back") {
  Request seen;
  Started served({.max_body = 1000}, [&](const Request& request) {
    seen = request;
    return Answer(201, {{{"Content-Type", "text/plain"}, {"Content-Length", "99"}}}, "made");
  });
  const std::string answer =
      ask(served.port(),
          "PATCH /a%41?b HTTP/1.1\r\nHost: x\r\nX: a%0d%0aEvil: 1\r\nTransfer-Encoding: "
          "chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
  CHECK(answer ==
        "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nConnection: "
        "close\r\n\r\nmade");
  CHECK(seen.method == "PATCH");
  CHECK(seen.target == "/a%41?b");
  CHECK(*seen.headers.find("x") == "a%0d%0aEvil: 1");
  CHECK(seen.body == "abcde");
  CHECK(ask(served.port(), "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("close\r\n\r\n"));
  // A second request in the same packet is not answered, and does not destroy the first one's answer.
  CHECK(ask(served.port(), kHealthz + kHealthz).ends_with("\r\n\r\nmade"));
}

TEST_CASE(
    "what must not be served is refused with the right status, and never reaches the handler") {
  std::atomic<int> handled{0};
  Started reads_only({}, [&](const Request&) { return ++handled, Answer(200, {}, ""); });
  Started takes_bodies({.max_body = 10}, [&](const Request&) { return ++handled, Answer(); });
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  CHECK(status_of(ask(reads_only.port(), post + "Content-Length: 0\r\n\r\n")) == 405);
  CHECK(status_of(ask(reads_only.port(),
                      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na")) == 413);
  CHECK(status_of(ask(takes_bodies.port(), post + "Content-Length: 11\r\n\r\n")) == 413);
  CHECK(status_of(ask(takes_bodies.port(), post + "Transfer-Encoding: chunked\r\n\r\nb\r\n" +
                                               std::string(11, 'x'))) == 413);
  CHECK(status_of(ask(takes_bodies.port(),
                      post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n")) == 400);
  CHECK(status_of(ask(takes_bodies.port(), post + "X: " + std::string(17'000, 'x'))) == 431);
  CHECK(status_of(ask(takes_bodies.port(), "\x16\x03\x01 TLS on a plain port\r\n\r\n")) == 400);
  CHECK(handled == 0);
}

TEST_CASE("a client that sends too much can finish sending and hears the answer") {
  Started served({.max_body = 1000}, ok);
  const std::string large(8U << 20, 'x');
  Talk refused = connect_to(served.port());
  CHECK(refused.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n" + large));
  CHECK(status_of(refused.rest()) == 413);
  Talk answered = connect_to(served.port());
  CHECK(answered.send(kHealthz + large));
  CHECK(status_of(answered.rest()) == 200);
}

TEST_CASE("a handler's exception or broken header becomes a 500 that tells nothing") {
  Started served({}, [](const Request& request) {
    if (request.target == "/throw") throw std::runtime_error("secret detail");
    return Answer(200, {{{"X", "a\r\nEvil: 1"}}}, "secret detail");
  });
  for (const char* target : {"/throw", "/header"}) {
    const std::string answer =
        ask(served.port(), std::string("GET ") + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(status_of(answer) == 500);
    CHECK(answer.find("secret") == std::string::npos);
    CHECK(answer.find("Evil") == std::string::npos);
  }
}

TEST_CASE("an address in use is an error, not a second server that shares the traffic") {
  Started first({}, ok);
  Server second({.port = first.port()}, ok);
  const auto started = second.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().message.find("in use") != std::string::npos);
  CHECK_FALSE(Server({.address = "not an address"}, ok).start());
  CHECK_FALSE(Server({.certificate_file = "/nonexistent", .key_file = "/nonexistent"}, ok).start());
}

TEST_CASE("a port can be bound again right after a stop") {
  const auto first = std::make_unique<Started>(ServerOptions{}, ok);
  const int port = first->port();
  CHECK(is_healthy(port));
  first->server.stop();
  Started second({.port = port}, ok);
  CHECK(is_healthy(port));
}

TEST_CASE("a unix socket is for its owner only, replaces a dead one, and goes with its server") {
  const Directory files;
  const std::string path = files.path("agent.sock");
  Client client({.host = "agent", .unix_socket = path});
  {
    Started served({.unix_socket = path}, [](const Request& request) {
      return Answer(200, {}, *request.headers.find("Host"));
    });
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(client.send({}, {}, {})->body == "agent");
    Server second({.unix_socket = path}, ok);
    CHECK_FALSE(second.start());
    CHECK(client.send({}, {}, {})->body == "agent");
  }
  CHECK_FALSE(std::filesystem::exists(path));
  {  // a file whose server was killed
    auto dead = Listener::open({.unix_socket = path});
    REQUIRE(dead);
    std::filesystem::rename(path, files.path("moved"));
    dead->close();
    std::filesystem::rename(files.path("moved"), path);
  }
  {
    Started served({.unix_socket = path}, ok);
    CHECK(client.send({}, {}, {})->body == "ok");
  }
  {  // a server whose file was taken away leaves its successor's alone
    Started served({.unix_socket = path}, ok);
    std::filesystem::rename(path, files.path("moved"));
    files.file("agent.sock", "not a socket");
  }
  CHECK_FALSE(Server({.unix_socket = path}, ok).start());
  CHECK(std::filesystem::is_regular_file(path));
}

TEST_CASE("clients that are idle, slow or endless neither delay a probe nor cost memory") {
  Started served({.threads = 2, .max_waiting = 64, .deadline = kForever, .max_body = 100'000}, ok);
  CHECK(is_healthy(served.port()));
  const size_t before = resident_kb();
  std::vector<Talk> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(connect_to(served.port()));
    if (i % 2 == 0) idle.back().send("GET /slow HTTP/1.1\r\nX: ");
  }
  std::atomic<bool> over{false};
  std::vector<std::jthread> attackers;
  const auto attack = [&](std::string start, std::string piece) {
    attackers.emplace_back([&, start = std::move(start), piece = std::move(piece)] {
      while (!over) {
        Talk talk = connect_to(served.port());
        for (bool open = talk.send(start); open && !over;) open = talk.send(piece);
      }
    });
  };
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string filler(10'000, 'x');
  attack("GET /", filler);
  attack(post + "X: ", filler);
  attack(post, "X: y\r\n");
  attack(post + "Transfer-Encoding: chunked\r\n\r\n", "3e8\r\n" + std::string(1000, 'x') + "\r\n");
  attack(post + "Transfer-Encoding: chunked\r\n\r\n1;", filler);
  attack(post + "Content-Length: 99999999999\r\n\r\n", filler);
  for (int i = 0; i < 20; ++i) CHECK(is_healthy(served.port()));
  over = true;
  attackers.clear();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(resident_kb() - before < 20'000);
#else
  CHECK(before > 0);
#endif
}

TEST_CASE("a client that does not take its answer is dropped, and delays nobody") {
  Started served({.threads = 1, .deadline = 300ms}, [](const Request& request) {
    return Answer(200, {}, request.target == "/large" ? std::string(32U << 20, 'x') : "ok");
  });
  std::vector<Talk> takers;
  for (int i = 0; i < 3; ++i) {
    takers.push_back(connect_to(served.port()));
    takers.back().send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  CHECK(is_healthy(served.port()));
  CHECK(eventually(10s, [&] {  // an error: the server has given up with bytes unsent
    return ::send(takers[0].fd(), "x", 1, MSG_NOSIGNAL) < 0;
  }));
}

TEST_CASE("a silent or slow client is closed at the deadline, however it drips") {
  Started served({.deadline = 200ms}, ok);
  Talk drips = connect_to(served.port());
  CHECK(eventually(10s, [&] { return !drips.send("G"); }));
  CHECK(connect_to(served.port()).rest().empty());
}

TEST_CASE("a hundred requests at once are all answered") {
  Started served({.threads = 2, .max_waiting = 16}, ok);
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 100; ++i)
      threads.emplace_back([&] {
        const auto answer = served.client().send({}, {.connect = 20s, .total = 20s}, {});
        answered += answer && answer->body == "ok";
      });
  }
  CHECK(answered == 100);
}

TEST_CASE("TLS serves calls and streams, and silent clients do not hold up a handshake") {
  const Directory files;
  const auto identity = test::issue({.alternative_names = "IP:127.0.0.1"});
  const std::string large(3'000'000, 'x');
  Started served({.certificate_file = files.file("c", identity.certificate),
                  .key_file = files.file("k", identity.key),
                  .threads = 1,
                  .max_body = 4U << 20},
                 [&](const Request& request) {
                   Answer answer(200, {}, request.body);
                   if (request.method == "GET")
                     answer.stream = [&](const Writer& write) { write(large); };
                   return answer;
                 });
  std::vector<Talk> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(served.port()));
  Client client(
      {.host = "127.0.0.1", .port = served.port(), .tls = Tls{.ca_pem = identity.certificate}});
  const auto echoed = client.send({.method = "POST", .body = large}, {}, {});
  REQUIRE(echoed);
  CHECK(echoed->body == large);
  const auto streamed = client.send({}, {}, {});
  REQUIRE(streamed);
  CHECK(streamed->body == large);
}

TEST_CASE(
    "pieces of a stream arrive when they are written, in chunks or until the end for HTTP/1.0") {
  std::atomic<bool> first_seen{false};
  Started served({}, [&](const Request&) {
    Answer answer(200, {{{"Content-Type", "text/event-stream"}}}, "");
    answer.stream = [&](const Writer& write) {
      write("first");
      if (eventually(10s, [&] { return first_seen.load(); })) write("second");
    };
    return answer;
  });
  std::string body;
  const auto result = served.client().stream(
      {}, {}, {}, [](const Response& head) { return head.status == 200; },
      [&](std::string_view piece) {
        body += piece;
        first_seen = body == "first" || first_seen;
        return true;
      });
  CHECK(result);
  CHECK(body == "firstsecond");
  CHECK(ask(served.port(), "GET / HTTP/1.0\r\n\r\n").ends_with("close\r\n\r\nfirstsecond"));
}

TEST_CASE("a stream whose source fails ends visibly early") {
  Started served({}, [](const Request&) {
    Answer answer(200, {}, "");
    answer.stream = [](const Writer& write) {
      write("half");
      throw std::runtime_error("secret detail");
    };
    return answer;
  });
  const auto result = served.client().send({}, {}, {});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Unreachable);
}

TEST_CASE("streams beyond the limit get 503, and a client that leaves makes room") {
  std::atomic<int> running{0};
  Started served({.threads = 1, .max_streams = 3}, [&](const Request& request) {
    return request.target == "/watch" ? endless(running) : Answer(200, {}, "ok");
  });
  const std::string watch = "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<Talk> watching;
  for (int i = 0; i < 3; ++i) {
    watching.push_back(connect_to(served.port()));
    watching.back().send(watch);
  }
  REQUIRE(eventually(10s, [&] { return running == 3; }));
  CHECK(status_of(ask(served.port(), watch)) == 503);
  CHECK(is_healthy(served.port()));
  watching.pop_back();
  REQUIRE(eventually(10s, [&] { return running == 2; }));
  watching.push_back(connect_to(served.port()));
  watching.back().send(watch);
  CHECK(eventually(10s, [&] { return running == 3; }));
}

TEST_CASE("a stream's client that does not read is given up at the deadline") {
  std::atomic<bool> gave_up{false};
  Started served({.deadline = 200ms}, [&](const Request&) {
    Answer answer(200, {}, "");
    answer.stream = [&](const Writer& write) {
      while (write(std::string(100'000, 'x'))) {
      }
      gave_up = true;
    };
    return answer;
  });
  Talk talk = connect_to(served.port());
  talk.send(kHealthz);
  CHECK(eventually(10s, [&] { return gave_up.load(); }));
}

TEST_CASE("a stop ends at once whatever clients do, and streams see it") {
  std::atomic<int> running{0};
  auto served =
      std::make_unique<Started>(ServerOptions{.deadline = kForever}, [&](const Request& request) {
        if (request.target == "/large") return Answer(200, {}, std::string(32U << 20, 'x'));
        if (request.target == "/watch") return endless(running);
        Answer answer(200, {}, "");
        answer.stream = [&](const Writer& write) {
          const std::string piece(64U << 20, 'x');  // more than any socket takes: blocks
          ++running;
          write(piece);
        };
        return answer;
      });
  std::vector<Talk> talks;
  for (const char* bytes :
       {"", "GET /slow", "GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n", "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    talks.push_back(connect_to(served->port()));
    talks.back().send(bytes);
  }
  REQUIRE(eventually(10s, [&] { return running == 2; }));
  const auto asked = std::chrono::steady_clock::now();
  served->server.stop();
  CHECK(std::chrono::steady_clock::now() - asked < 5s);
  CHECK(running == 1);  // the one that counts itself down
  CHECK(ask(served->port(), kHealthz).empty());
  served->server.stop();
  CHECK_FALSE(served->server.start());
}

TEST_CASE("no socket is inherited by a child process") {
  const auto sockets_of_a_child = [] {
    FILE* child = ::popen("ls -l /proc/self/fd | grep -c socket:", "r");
    int count = -1;
    CHECK(std::fscanf(child, "%d", &count) == 1);
    ::pclose(child);
    return count;
  };
  const int before = sockets_of_a_child();
  Started served({}, ok);
  Talk talk = connect_to(served.port());
  talk.send("GET /half");
  CHECK(is_healthy(served.port()));  // by now the half request was accepted
  CHECK(sockets_of_a_child() == before);
}
