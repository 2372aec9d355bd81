// A small HTTP/1.1 server that slow, endless and oversized clients cannot hurt: memory and threads stay bounded.
//
// For /metrics, probes, the HTTP API, and the embedded Kubernetes API of the tests. One request per connection, with a
// deadline and a byte budget (design section 9). All reading and writing happens on one thread that never waits for a
// client; handlers run on `threads` pool threads, streamed answers on threads of their own; both must be thread-safe.
// Header values arrive as they were sent, nothing is percent-decoded. An exception of a handler becomes a 500 without
// its text, an exception of a stream an answer that visibly ends early.
//
//   net::Server server({.address = "127.0.0.1", .port = 0}, [](const net::Request& r) { return net::Response{200, {}, "ok"}; });
//   if (auto started = server.start(); !started) return started.error();
//   use(server.port());
//   // the destructor stops it
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "shared/base/result.h"
#include "shared/net/http.h"

namespace nobs::net {

struct ServerOptions {
  std::string address = "127.0.0.1";  // a numeric address, or "" with a unix_socket
  int port = 0;                       // 0: any free one
  std::string unix_socket;            // path; made with mode 0600, a stale file of ours is replaced
  std::string certificate_file, key_file;  // both empty: plain HTTP
  size_t threads = 4;                      // requests answered at the same time
  // Connections besides those being answered. When there are more, the oldest is closed if it has had 250 ms; until
  // then new ones wait in the kernel's backlog.
  size_t max_waiting = 128;
  size_t max_streams = 64;  // streamed answers at the same time, each on a thread of its own
  std::chrono::milliseconds deadline{
      5'000};                   // to receive a whole request, and again to take the answer
  size_t max_head = 16U << 10;  // request line and headers
  size_t max_body = 0;          // 0: only GET and HEAD, others get 405
};

// Writes pieces of a streamed answer; false once the client is gone or the server stops. A write waits at most
// `deadline` for a client that does not read. An empty piece writes nothing and only tells; a stream that has nothing
// to say must ask so several times a second, because stop() waits for it.
using Writer = std::function<bool(std::string_view)>;

struct Answer : Response {
  Answer() = default;
  Answer(int status_, Headers headers_, std::string body_)
      : Response{status_, std::move(headers_), std::move(body_)} {}
  Answer(Response response) : Response(std::move(response)) {}  // NOLINT: implicit on purpose
  // When set, the body is what it writes (chunked), and it runs until it returns.
  std::function<void(const Writer&)> stream;
  // For servers that play a broken one. Status 0: the connection is closed without an answer. `cut` is asked when
  // `stream` has returned: true closes the connection without the end that the framing promises.
  std::function<bool()> cut;
};

using Handler = std::function<Answer(const Request&)>;

class Server {
 public:
  Server(ServerOptions options, Handler handler);
  ~Server();

  // Binds and begins to answer; errors: the address is in use, not ours, or the certificate cannot be read.
  Result<void> start();
  int port() const;
  // Ends within a second, whatever clients do, if handlers and streams return; streams see false from their writer.
  // Called by the destructor too. Not twice at the same time.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::net
