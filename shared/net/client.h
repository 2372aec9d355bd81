// HTTP/1.1 client for one peer over TCP, TLS or a unix socket, with deadlines on everything.
//
// For shared/kube and whoever else calls out. Thread-safe: calls take a connection from a small pool (at most
// `max_idle` kept, stale ones are noticed before use); each stream has a connection of its own. Never follows
// redirects, reads no proxy variables, sends headers only after checking them for CR and LF. A stop token ends a running
// call within milliseconds, whatever it waits for (a name being looked up included). Header values are given as they
// came, nothing is percent-decoded. The program must ignore SIGPIPE (base/stop.h).
//
// A body that ends before its framing says so is an error. One with neither Content-Length nor chunks ends when the peer
// closes: over TLS a missing close_notify shows that it was cut; over plain TCP nobody can know, and it is a success.
//
//   net::Client client({.host = "10.96.0.1", .port = 443, .tls = net::Tls{.ca_file = "/…/ca.crt"}});
//   auto answer = client.send({.target = "/version"}, {.total = 10s}, stop);
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "shared/base/result.h"
#include "shared/net/http.h"

namespace nobs::net {

struct Tls {
  // Each either as a file, read anew for each new connection (certificates rotate), or as PEM text.
  std::string ca_file, ca_pem;                    // both empty: the system's
  std::string certificate_file, certificate_pem;  // both empty: no client certificate
  std::string key_file, key_pem;
  std::string server_name;  // checked instead of the host, when not empty
  bool insecure = false;    // kubeconfig's insecure-skip-tls-verify
};

struct Endpoint {
  std::string host;  // a name, an IPv4 or an IPv6 address without brackets
  int port = 0;
  std::optional<Tls> tls;   // nothing: plain
  std::string unix_socket;  // when not empty, host is only the Host header
  std::string user_agent = "neuron-observer";
};

struct Limits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{30'000};    // for send(): the whole exchange
  std::chrono::milliseconds silence{90'000};  // for stream(): between two pieces
  size_t max_body = 64U << 20;                // for send()
};

class Client {
 public:
  explicit Client(Endpoint endpoint, size_t max_idle = 4);
  ~Client();

  // Any status is a success here; errors are Unreachable, Timeout, Stopped, Invalid (a header or the TLS material) or
  // Rejected (the body is larger than max_body). A GET that fails on a kept connection is tried once more on a new one.
  // gzip is decoded when the request asked for it (then Content-Encoding and Content-Length are removed).
  Result<Response> send(const Request& request, const Limits& limits, const std::stop_token& stop);

  // Status and headers at once to `on_start`, then the body piece by piece to `on_piece`; either returns false to end
  // (then ErrorCode::Stopped). Neither may throw. The result's body is empty; gzip as for send(). An answer that ends
  // where the framing says so is a success; anything shorter is Unreachable. `connect` and `silence` are the limits.
  Result<Response> stream(const Request& request, const Limits& limits, const std::stop_token& stop,
                          const std::function<bool(const Response&)>& on_start,
                          const std::function<bool(std::string_view)>& on_piece);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::net
