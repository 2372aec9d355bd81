#include "shared/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "shared/base/unique_fd.h"

namespace nobs {
namespace {

Error failed(const std::string& what, const std::string& path, int number) {
  return {number == ENOENT ? ErrorCode::NotFound : ErrorCode::Unreachable,
          what + " " + path + ": " + std::generic_category().message(number),
          0,
          {}};
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return failed("cannot open", path, errno);
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("cannot read", path, errno);
    if (size == 0) return content;
    content.append(buffer, static_cast<size_t>(size));
    if (content.size() > max_bytes) {
      return invalid(path + " is larger than the " + std::to_string(max_bytes) + " bytes accepted");
    }
  }
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  {
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) return failed("cannot create", temporary, errno);
    while (!content.empty()) {
      const ssize_t size = ::write(fd.get(), content.data(), content.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) {
        const int number = errno;
        ::unlink(temporary.c_str());
        return failed("cannot write", temporary, number);
      }
      content.remove_prefix(static_cast<size_t>(size));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return failed("cannot replace", path, number);
  }
  return {};
}

}  // namespace nobs
