#include "shared/net/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace nobs::net {

namespace {

constexpr int kBacklog = 128;

Error cannot(const std::string& where) {
  return invalid("cannot listen on " + where + ": " + std::strerror(errno));
}

UniqueFd new_socket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A socket file of somebody who died: nobody answers on it.
bool is_stale(const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const auto probe = new_socket(AF_UNIX);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

Listener::Listener(Listener&& other) noexcept { *this = std::move(other); }

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::move(other.fd_);
  port_ = other.port_;
  inode_ = other.inode_;
  path_ = std::exchange(other.path_, {});
  return *this;
}

void Listener::close() {
  fd_.reset();
  struct stat status {};
  if (!path_.empty() && ::lstat(path_.c_str(), &status) == 0 && status.st_ino == inode_)
    ::unlink(path_.c_str());
  path_.clear();
}

Result<Listener> Listener::open(const ServerOptions& options) {
  Listener result;
  if (!options.unix_socket.empty()) {
    const auto& path = options.unix_socket;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      return invalid("cannot listen on " + path + ": the path is longer than 107 bytes");
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    result.fd_ = new_socket(AF_UNIX);
    int bound = ::bind(result.fd(), generic, sizeof address);
    if (bound != 0 && errno == EADDRINUSE) {
      if (!is_stale(address)) {
        errno = EADDRINUSE;
        return cannot(path);
      }
      ::unlink(path.c_str());
      bound = ::bind(result.fd(), generic, sizeof address);
    }
    struct stat status {};
    // Nobody can connect before listen(), so there is no moment with a wider mode.
    if (bound != 0 || ::chmod(path.c_str(), 0600) != 0 || ::lstat(path.c_str(), &status) != 0 ||
        ::listen(result.fd(), kBacklog) != 0)
      return cannot(path);
    result.path_ = path;
    result.inode_ = status.st_ino;
    return result;
  }
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  sockaddr* address = nullptr;
  socklen_t size = 0;
  const auto port = htons(static_cast<std::uint16_t>(options.port));
  if (::inet_pton(AF_INET, options.address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    address = reinterpret_cast<sockaddr*>(&v4);
    size = sizeof v4;
  } else if (::inet_pton(AF_INET6, options.address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    address = reinterpret_cast<sockaddr*>(&v6);
    size = sizeof v6;
  } else {
    return invalid("cannot listen on " + options.address + ": not a numeric IP address");
  }
  const std::string where = options.address + " port " + std::to_string(options.port);
  if (options.port < 0 || options.port > 65'535) return invalid("no such port: " + where);
  result.fd_ = new_socket(address->sa_family);
  // Only SO_REUSEADDR (binds over TIME_WAIT): with SO_REUSEPORT two programs would share the traffic unnoticed.
  const int one = 1;
  ::setsockopt(result.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(result.fd(), address, size) != 0 || ::listen(result.fd(), kBacklog) != 0 ||
      ::getsockname(result.fd(), address, &size) != 0)
    return cannot(where);
  result.port_ = ntohs(address->sa_family == AF_INET ? v4.sin_port : v6.sin6_port);
  return result;
}

}  // namespace nobs::net
