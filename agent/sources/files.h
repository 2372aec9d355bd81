// Reads the kernel's small files below a root, and never anything outside it.
//
// For the readers of this folder. Thread-safe: a Root is one descriptor that is never changed. Symbolic links are
// followed only while they stay below the root. Errors are errno values; 0 is success.
//
//   Root root("/sys");
//   std::optional<std::string> version = root.text("module/neuron/version");
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/unique_fd.h"

namespace nobs::sources {

class Root {
 public:
  explicit Root(const std::string& path);

  // For reading or as O_PATH; close-on-exec, never blocking in open. An empty descriptor leaves errno.
  UniqueFd open(const std::string& path, int flags) const;
  // The whole file as one read gives it; nothing when it cannot be read or exceeds a page.
  std::optional<std::string> text(const std::string& path) const;
  // Names in a directory, unsorted, without "." and ".."; empty when it cannot be read.
  std::vector<std::string> names(const std::string& path) const;

 private:
  UniqueFd fd_;
};

// As Root::open, relative to a directory.
UniqueFd open_below(int directory, const char* path, int flags);

// One sysfs value: a page, and one byte to see that there is more.
using Buffer = std::array<char, 4097>;
// Reads from the start; `text` points into the buffer. EFBIG: longer than a page.
int read_value(int fd, Buffer& buffer, std::string_view& text);

// Tells a directory from one that is made anew at the same path. The inode number, which sysfs never uses twice in a
// boot, and the time of birth where there is one. Not ctime: sysfs sets that whenever it loads the inode.
std::string directory_identity(int directory);

// Paths of the regular files below a directory, at most `depth` levels and `limit` entries deep. Links are not
// followed; the generic power directory of the driver core (one of its files answers EIO) is left out.
std::vector<std::string> files_below(int directory, int depth, size_t limit);

}  // namespace nobs::sources
