#include "shared/net/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace nobs::net {

namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Error unreachable(const std::string& where, const std::string& why) {
  return {ErrorCode::Unreachable, where + ": " + why, 0, {}};
}

Error from_wait(const std::string& where, Io io) {
  if (io == Io::Stopped) return {ErrorCode::Stopped, where + ": connecting: stopped", 0, {}};
  if (io == Io::Timeout) return {ErrorCode::Timeout, where + ": connecting: timed out", 0, {}};
  return unreachable(where, "connecting failed");
}

struct Lookup {
  std::string host, port;
  UniqueFd ready{::eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex;  // the eventfd already orders the accesses; sanitizers do not know that
  int code = 0;
  std::vector<Address> addresses;

  void run(int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int result = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    const std::lock_guard lock(mutex);
    code = result;
    for (const addrinfo* entry = list; result == 0 && entry != nullptr; entry = entry->ai_next) {
      auto& address = addresses.emplace_back();
      std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
      address.size = entry->ai_addrlen;
    }
    if (result == 0) ::freeaddrinfo(list);
    ::eventfd_write(ready.get(), 1);
  }
};

Result<std::vector<Address>> look_up(const Endpoint& endpoint, const std::string& where,
                                     const Until& until) {
  const auto lookup = std::make_shared<Lookup>();
  lookup->host = endpoint.host;
  lookup->port = std::to_string(endpoint.port);
  lookup->run(AI_NUMERICHOST);
  if (lookup->code == 0) return std::move(lookup->addresses);
  // getaddrinfo has neither deadline nor cancel. A thread of its own, which nobody joins, lets us go on; it ends by
  // itself when the resolver gives up and touches nothing but what it shares with us.
  eventfd_t count = 0;
  ::eventfd_read(lookup->ready.get(), &count);
  try {
    std::thread([lookup] { lookup->run(0); }).detach();
  } catch (const std::system_error&) {
    return unreachable(where, "no thread left to resolve the name");
  }
  if (const Io io = wait_for(lookup->ready.get(), Io::WantRead, until); io != Io::Ok)
    return from_wait(where, io);
  const std::lock_guard lock(lookup->mutex);
  if (lookup->code != 0) return unreachable(where, ::gai_strerror(lookup->code));
  return std::move(lookup->addresses);
}

Result<UniqueFd> connect_to(const Address& address, const std::string& where, const Until& until) {
  const int family = address.storage.ss_family;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return unreachable(where, std::strerror(errno));
  if (family != AF_UNIX) {
    // A peer that vanished without a word is noticed within a minute, on idle and on busy connections.
    const auto set = [&](int level, int name, int value) {
      ::setsockopt(fd.get(), level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
  }
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), generic, address.size) == 0) return fd;
  if (errno != EINPROGRESS) return unreachable(where, std::strerror(errno));
  if (const Io io = wait_for(fd.get(), Io::WantWrite, until); io != Io::Ok)
    return from_wait(where, io);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return unreachable(where, std::strerror(error));
  return fd;
}

}  // namespace

Result<UniqueFd> dial(const Endpoint& endpoint, const Until& until) {
  if (const auto& path = endpoint.unix_socket; !path.empty()) {
    Address address;
    auto* unix_address = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.size() >= sizeof unix_address->sun_path)
      return invalid(path + ": a socket path is at most 107 bytes");
    unix_address->sun_family = AF_UNIX;
    std::memcpy(unix_address->sun_path, path.data(), path.size());
    address.size = sizeof *unix_address;
    return connect_to(address, path, until);
  }
  const std::string where = endpoint.host + " port " + std::to_string(endpoint.port);
  auto addresses = look_up(endpoint, where, until);
  if (!addresses) return addresses.error();
  Result<UniqueFd> result = unreachable(where, "the name has no address");
  for (size_t i = 0; i < addresses->size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const auto share = (until.deadline - now) / static_cast<int>(addresses->size() - i);
    result = connect_to((*addresses)[i], where, {now + share, until.wake});
    if (result || result.error().is_stopped()) break;
  }
  return result;
}

}  // namespace nobs::net
