// For tests: a directory that goes away with its object, and a FUSE mount where there can be one.
//
//   const TestDirectory place;
//   const auto fuse = mount_or_skip(tree.root(), mountpoint.path);
//   if (!fuse) return;
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/sim/tree/fuse_tree.h"

namespace nobs::sim {

struct TestDirectory {
  TestDirectory() {
    // In memory: a tree has 13,600 files.
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    name += "/nobs-test-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  std::string path;
};

// Null: skipped, with a message. Where CI is set a test that cannot run fails.
inline std::unique_ptr<FuseTree> mount_or_skip(const std::string& directory,
                                               const std::string& mountpoint) {
  auto fuse = FuseTree::mount(directory, mountpoint);
  if (fuse) return std::move(*fuse);
  if (std::getenv("CI") != nullptr) FAIL(fuse.error().message);  // NOLINT: no other thread sets it
  MESSAGE("skipped: " << fuse.error().message);
  return nullptr;
}

}  // namespace nobs::sim
