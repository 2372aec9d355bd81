// Reads small files whole, with a bound: tokens, certificates, configuration, one-line kernel files.
#pragma once

#include <string>

#include "shared/base/result.h"

namespace nobs {

// The content, at most `max_bytes` (more is an error, as is anything but a readable file). st_size is not believed.
Result<std::string> read_file(const std::string& path, size_t max_bytes);
// Writes next to `path` and renames: a reader sees the old content or the new one, never half. Mode 0600.
Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace nobs
