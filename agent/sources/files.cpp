#include "agent/sources/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory list(int parent, const char* path) {
  UniqueFd fd = open_below(parent, path, O_RDONLY | O_DIRECTORY);
  if (!fd) return {};
  DIR* directory = ::fdopendir(fd.get());
  if (directory == nullptr) return {};
  fd.release();  // now the stream's
  return Directory(directory);
}

}  // namespace

UniqueFd open_below(int directory, const char* path, int flags) {
  flags |= O_CLOEXEC;
  if ((flags & O_PATH) == 0) flags |= O_NOCTTY | O_NONBLOCK;  // with O_PATH openat2 refuses them
  open_how how{};
  how.flags = static_cast<__u64>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN) break;  // EAGAIN: something was renamed while ".." was resolved
  }
  // A seccomp profile without openat2, or a kernel before 5.6.
  if (errno == ENOSYS || errno == EPERM)
    return UniqueFd(::openat(directory, path, flags | O_NOFOLLOW));
  return {};
}

Root::Root(const std::string& path) : fd_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

UniqueFd Root::open(const std::string& path, int flags) const {
  return open_below(fd_.get(), path.c_str(), flags);
}

std::optional<std::string> Root::text(const std::string& path) const {
  const UniqueFd fd = open(path, O_RDONLY);
  Buffer buffer;
  std::string_view text;
  if (!fd || read_value(fd.get(), buffer, text) != 0) return std::nullopt;
  return std::string(text);
}

std::vector<std::string> Root::names(const std::string& path) const {
  std::vector<std::string> names;
  const Directory directory = list(fd_.get(), path.c_str());
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

int read_value(int fd, Buffer& buffer, std::string_view& text) {
  ssize_t count = 0;
  do count = ::pread(fd, buffer.data(), buffer.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno;
  if (static_cast<size_t>(count) == buffer.size()) return EFBIG;
  text = {buffer.data(), static_cast<size_t>(count)};
  return 0;
}

std::string directory_identity(int directory) {
  struct statx status {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return "";
  std::string identity = hex16(status.stx_ino);
  if ((status.stx_mask & STATX_BTIME) != 0)
    identity += hex16(static_cast<std::uint64_t>(status.stx_btime.tv_sec)) +
                hex16(status.stx_btime.tv_nsec);
  return identity;
}

namespace {

void walk(int parent, const std::string& path, int depth, size_t limit,
          std::vector<std::string>& files) {
  const Directory directory = list(parent, path.empty() ? "." : path.c_str());
  if (!directory) return;
  const std::string prefix = path.empty() ? "" : path + "/";
  const size_t first = files.size();
  std::vector<std::string> directories;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || files.size() + directories.size() >= limit) continue;
    if (entry->d_type == DT_DIR && depth > 0 && !(path.empty() && name == "power"))
      directories.push_back(prefix + std::string(name));
    if (entry->d_type != DT_REG) continue;
    if (name == "runtime_status") {  // a generic power directory wherever it is
      files.resize(first);
      return;
    }
    files.push_back(prefix + std::string(name));
  }
  for (const std::string& below : directories) walk(parent, below, depth - 1, limit, files);
}

}  // namespace

std::vector<std::string> files_below(int directory, int depth, size_t limit) {
  std::vector<std::string> files;
  walk(directory, "", depth, limit, files);
  return files;
}

}  // namespace nobs::sources
