// A listening socket, TCP or unix, that never shares its address with anybody.
//
// Inside shared/net only.
#pragma once

#include <sys/types.h>

#include <string>

#include "shared/base/result.h"
#include "shared/base/unique_fd.h"
#include "shared/net/server.h"

namespace nobs::net {

class Listener {
 public:
  Listener() = default;
  ~Listener() { close(); }
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;

  static Result<Listener> open(const ServerOptions& options);
  int fd() const { return fd_.get(); }
  int port() const { return port_; }  // 0 for a unix socket
  // Removes the socket's file too, if it is still the one we made.
  void close();

 private:
  UniqueFd fd_;
  int port_ = 0;
  std::string path_;
  ino_t inode_ = 0;
};

}  // namespace nobs::net
