// The other side in byte-exact form: servers and clients that say precisely what a test wants, well-behaved or not.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "shared/net/listener.h"
#include "shared/net/tls.h"

namespace nobs::test {

// One connection as a script sees it. Nothing waits longer than 20 s, nor after the test has ended.
class Talk {
 public:
  Talk(net::Connection connection, const net::Wake* wake)
      : connection_(std::move(connection)), wake_(wake) {}

  bool handshake();
  // Head and, when it has a length, body of the next request; empty when the peer has gone.
  std::string request();
  bool send(std::string_view bytes);
  // All that still comes.
  std::string rest();
  void close_write() { connection_.close_write(); }  // over TLS with close_notify
  int fd() const { return connection_.fd(); }

 private:
  net::Until until() const;
  bool more();

  net::Connection connection_;
  const net::Wake* wake_;
  std::string inbox_;
};

// Runs `script` for each connection, on a thread of its own; `number` counts them from 0. When it returns, the
// connection is closed (without close_notify).
class RawServer {
 public:
  using Script = std::function<void(Talk&, int number)>;
  explicit RawServer(Script script, net::SslContext tls = nullptr);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  int port() const { return listener_.port(); }
  int connections() const { return connections_; }
  net::Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port()}; }

 private:
  Script script_;
  net::SslContext tls_;
  net::Listener listener_;
  std::atomic<int> connections_{0};
  std::stop_source stopping_;
  net::Wake wake_;
  std::list<std::jthread> talks_;
  std::jthread accepting_;
};

// A plain connection to 127.0.0.1.
Talk connect_to(int port);
// Sends the bytes and returns all that comes back until the server closes.
std::string ask(int port, std::string_view bytes);

}  // namespace nobs::test
