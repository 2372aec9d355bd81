#include "shared/net/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nobs::net {

using namespace std::chrono_literals;

namespace {

short poll_events(Io want) { return want == Io::WantWrite ? POLLOUT : POLLIN; }

// An endless fast peer never lets us reach poll(), so time and stop are looked at before each call as well.
Io interrupted(const Until& until) {
  if (until.wake != nullptr && until.wake->stopped()) return Io::Stopped;
  return std::chrono::steady_clock::now() >= until.deadline ? Io::Timeout : Io::Ok;
}

template <typename Operation>
Io drive(const Connection& connection, const Until& until, const Operation& operation) {
  for (;;) {
    if (const Io io = interrupted(until); io != Io::Ok) return io;
    const Io want = operation();
    if (want != Io::WantRead && want != Io::WantWrite) return want;
    if (const Io io = wait_for(connection.fd(), want, until); io != Io::Ok) return io;
  }
}

}  // namespace

void SslFree::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Wake::Wake(std::stop_token stop) : stop_(std::move(stop)) {
  if (!stop_.stop_possible()) return;
  event_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  callback_.emplace(stop_, Signal{event_.get()});
}

void Wake::Signal::operator()() const {
  const eventfd_t one = 1;
  ::eventfd_write(fd, one);  // never read back: it stays ready for everybody who polls
}

Io wait_for(int fd, Io want, const Until& until) {
  for (;;) {
    if (const Io io = interrupted(until); io != Io::Ok) return io;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        until.deadline - std::chrono::steady_clock::now());
    pollfd polls[] = {{fd, poll_events(want), 0},
                      {until.wake == nullptr ? -1 : until.wake->fd(), POLLIN, 0}};
    const int timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    const int ready = ::poll(polls, 2, timeout);
    if (ready < 0 && errno != EINTR) return Io::Failed;
    if (ready > 0 && polls[0].revents != 0 && polls[1].revents == 0) return Io::Ok;
  }
}

Connection::Connection(UniqueFd fd, SslPtr ssl) : fd_(std::move(fd)), ssl_(std::move(ssl)) {
  if (ssl_) SSL_set_fd(ssl_.get(), fd_.get());
}

Io Connection::fail(std::string why) {
  broken_ = true;
  failure_ = std::move(why);
  return Io::Failed;
}

Io Connection::ssl_result(int result) {
  const int saved_errno = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Io::Ok;
    case SSL_ERROR_WANT_READ:
      return Io::WantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::WantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Io::Closed;
    case SSL_ERROR_SYSCALL:
      return fail(saved_errno == 0 ? "closed by the peer" : std::strerror(saved_errno));
    default:
      break;
  }
  if (const auto verified = SSL_get_verify_result(ssl_.get());
      verified != X509_V_OK && !SSL_is_init_finished(ssl_.get()))
    return fail(std::string("certificate: ") + X509_verify_cert_error_string(verified));
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  return fail(std::string("TLS: ") + (reason == nullptr ? "protocol error" : reason));
}

Io Connection::handshake() {
  if (!ssl_) return Io::Ok;
  ERR_clear_error();
  errno = 0;
  return ssl_result(SSL_do_handshake(ssl_.get()));
}

Io Connection::read(char* buffer, size_t size, size_t& got) {
  got = 0;
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    return ssl_result(SSL_read_ex(ssl_.get(), buffer, size, &got));
  }
  const ssize_t result = ::recv(fd_.get(), buffer, size, 0);
  if (result == 0) return Io::Closed;
  if (result > 0) {
    got = static_cast<size_t>(result);
    return Io::Ok;
  }
  return errno == EAGAIN || errno == EINTR ? Io::WantRead : fail(std::strerror(errno));
}

Io Connection::write(std::string_view bytes, size_t& put) {
  put = 0;
  if (bytes.empty()) return Io::Ok;
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    return ssl_result(SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &put));
  }
  const ssize_t result = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (result >= 0) {
    put = static_cast<size_t>(result);
    return Io::Ok;
  }
  return errno == EAGAIN || errno == EINTR ? Io::WantWrite : fail(std::strerror(errno));
}

void Connection::close_write() {
  if (ssl_ && !broken_ && SSL_is_init_finished(ssl_.get())) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

Io Connection::discard() {
  char buffer[16 << 10];
  const ssize_t result = ::recv(fd_.get(), buffer, sizeof buffer, 0);
  if (result > 0) return Io::Ok;
  return result < 0 && (errno == EAGAIN || errno == EINTR) ? Io::WantRead : Io::Closed;
}

bool Connection::stirs() const {
  pollfd poll_{fd_.get(), POLLIN | POLLRDHUP, 0};
  return ::poll(&poll_, 1, 0) != 0;
}

bool Connection::peer_gone() const {
  pollfd poll_{fd_.get(), POLLRDHUP, 0};
  return ::poll(&poll_, 1, 0) != 0;
}

Io handshake(Connection& connection, const Until& until) {
  return drive(connection, until, [&] { return connection.handshake(); });
}

Io read_some(Connection& connection, char* buffer, size_t size, size_t& got, const Until& until) {
  return drive(connection, until, [&] { return connection.read(buffer, size, got); });
}

Io write_all(Connection& connection, std::string_view bytes, const Until& until) {
  while (!bytes.empty()) {
    size_t put = 0;
    const Io io = drive(connection, until, [&] { return connection.write(bytes, put); });
    if (io != Io::Ok) return io;
    bytes.remove_prefix(put);
  }
  return Io::Ok;
}

}  // namespace nobs::net
