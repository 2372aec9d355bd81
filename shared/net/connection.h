// One non-blocking connection, plain or TLS, and how to wait on it under a deadline and a stop token.
//
// Inside shared/net only. Everything that client and server promise about time rests on `Until`: no read, write,
// handshake or connect blocks other than in a poll() that ends at the deadline or at the stop.
// A Connection belongs to one thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "shared/base/unique_fd.h"

struct ssl_st;  // OpenSSL's SSL and SSL_CTX, whose headers stay in the .cpp files
struct ssl_ctx_st;

namespace nobs::net {

using TimePoint = std::chrono::steady_clock::time_point;

struct SslFree {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslFree>;

// Makes a stop request visible to poll(). Thread-safe.
class Wake {
 public:
  explicit Wake(std::stop_token stop);
  int fd() const { return event_.get(); }
  bool stopped() const { return stop_.stop_requested(); }

 private:
  struct Signal {
    int fd;
    void operator()() const;
  };
  std::stop_token stop_;
  UniqueFd event_;  // outlives the callback, which writes to it
  std::optional<std::stop_callback<Signal>> callback_;
};

struct Until {
  TimePoint deadline;
  const Wake* wake;
};

enum class Io {
  Ok,
  WantRead,   // only from the methods of Connection, which never wait
  WantWrite,  //
  Closed,     // the peer ended its side in order (over TLS: with close_notify)
  Failed,
  Timeout,
  Stopped,
};

class Connection {
 public:
  Connection() = default;
  explicit Connection(UniqueFd fd, SslPtr ssl = nullptr);  // the descriptor is non-blocking
  Connection(Connection&&) noexcept = default;
  Connection& operator=(Connection&&) noexcept = default;
  ~Connection() = default;

  int fd() const { return fd_.get(); }
  Io handshake();  // Ok at once when plain
  Io read(char* buffer, size_t size, size_t& got);
  Io write(std::string_view bytes, size_t& put);
  // Tells the peer that nothing more comes; over TLS with close_notify.
  void close_write();
  // Throws away what the peer still sends. Closed at its end.
  Io discard();
  // Whether there is something to read, or the end, right now: on a kept connection either means it is useless.
  bool stirs() const;
  // Whether the peer has closed its side.
  bool peer_gone() const;
  // Why the last call gave Failed.
  const std::string& failure() const { return failure_; }

 private:
  Io ssl_result(int result);
  Io fail(std::string why);

  UniqueFd fd_;
  SslPtr ssl_;  // destroyed before the descriptor it uses
  bool broken_ = false;
  std::string failure_;
};

// Ok when `fd` is ready for `want` (WantRead or WantWrite), or has an error that the next call will tell.
Io wait_for(int fd, Io want, const Until& until);

Io handshake(Connection& connection, const Until& until);
Io read_some(Connection& connection, char* buffer, size_t size, size_t& got, const Until& until);
Io write_all(Connection& connection, std::string_view bytes, const Until& until);

}  // namespace nobs::net
