// A directory of the test's own, gone with it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "shared/base/file.h"

namespace nobs::kube {

struct Directory {
  Directory() {
    char name[] = "/tmp/nobs-kube-XXXXXX";
    path = ::mkdtemp(name);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path); }

  std::string write(const std::string& name, const std::string& content) const {
    const std::string file = path + "/" + name;
    REQUIRE(write_file_atomically(file, content));
    return file;
  }
  // A shell script that can be run.
  std::string script(const std::string& name, const std::string& lines) const {
    const std::string file = write(name, "#!/bin/sh\n" + lines);
    REQUIRE(::chmod(file.c_str(), 0700) == 0);
    return file;
  }

  std::string path;
};

}  // namespace nobs::kube
