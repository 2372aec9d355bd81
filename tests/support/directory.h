// A directory of a test's own, gone with its object.
//
//   const Directory place;
//   const auto file = place.file("config.yaml", "a: 1");
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "shared/base/file.h"

namespace nobs::test {

class Directory {
 public:
  // Below TMPDIR; without it in memory where that has room (a simulated tree is up to 13,770 files), else below /tmp.
  Directory() {
    std::error_code none;
    const bool has_room =
        std::filesystem::space("/dev/shm", none).available > (512U << 20) && !none;
    const bool wanted = ::getenv("TMPDIR") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    path_ = wanted || !has_room ? std::filesystem::temp_directory_path().string() : "/dev/shm";
    path_ += "/nobs-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot make a directory " + path_);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    if (!is_kept_) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string file(const std::string& name, const std::string& content) const {
    if (auto written = write_file_atomically(path(name), content); !written)
      throw std::runtime_error(written.error().message);
    return path(name);
  }
  // A shell script that can be run.
  std::string script(const std::string& name, const std::string& lines) const {
    file(name, "#!/bin/sh\n" + lines);
    if (::chmod(path(name).c_str(), 0700) != 0) throw std::runtime_error("chmod " + path(name));
    return path(name);
  }
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace nobs::test
