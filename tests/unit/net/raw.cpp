#include "tests/unit/net/raw.h"

#include <sys/socket.h>

#include "shared/base/strings.h"
#include "shared/net/dial.h"

namespace nobs::test {

using namespace std::chrono_literals;
using net::Io;

net::Until Talk::until() const { return {std::chrono::steady_clock::now() + 20s, wake_}; }

bool Talk::handshake() { return net::handshake(connection_, until()) == Io::Ok; }

bool Talk::more() {
  char buffer[4096];
  size_t got = 0;
  const bool received = read_some(connection_, buffer, sizeof buffer, got, until()) == Io::Ok;
  inbox_.append(buffer, got);
  return received;
}

std::string Talk::request() {
  size_t end = 0;
  while ((end = inbox_.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return {};
  size_t size = end + 4;
  if (const size_t length = lower(inbox_).find("content-length: "); length < end)
    size += static_cast<size_t>(std::atol(inbox_.c_str() + length + 16));
  while (inbox_.size() < size)
    if (!more()) return {};
  std::string result = inbox_.substr(0, size);
  inbox_.erase(0, size);
  return result;
}

bool Talk::send(std::string_view bytes) { return write_all(connection_, bytes, until()) == Io::Ok; }

std::string Talk::rest() {
  while (more()) {
  }
  return std::exchange(inbox_, {});
}

RawServer::RawServer(Script script, net::SslContext tls)
    : script_(std::move(script)), tls_(std::move(tls)), wake_(stopping_.get_token()) {
  listener_ = std::move(*net::Listener::open({}));
  accepting_ = std::jthread([this] {
    while (wait_for(listener_.fd(), Io::WantRead,
                    {std::chrono::steady_clock::now() + 60s, &wake_}) == Io::Ok) {
      UniqueFd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) continue;
      talks_.emplace_back([this, number = connections_++, fd = std::move(fd)]() mutable {
        Talk talk(net::Connection(std::move(fd), tls_ ? net::server_session(tls_) : nullptr),
                  &wake_);
        if (!tls_ || talk.handshake()) script_(talk, number);
      });
    }
  });
}

RawServer::~RawServer() {
  stopping_.request_stop();
  accepting_.join();
  talks_.clear();
}

Talk connect_to(int port) {
  auto fd = net::dial({.host = "127.0.0.1", .port = port},
                      {std::chrono::steady_clock::now() + 20s, nullptr});
  return {net::Connection(fd ? std::move(*fd) : UniqueFd()), nullptr};
}

std::string ask(int port, std::string_view bytes) {
  Talk talk = connect_to(port);
  talk.send(bytes);
  return talk.rest();
}

}  // namespace nobs::test
