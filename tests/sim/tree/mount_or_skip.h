// For tests: a FUSE mount where there can be one.
//
//   const auto fuse = mount_or_skip(tree.root(), mountpoint.path());
//   if (!fuse) return;
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/sim/tree/fuse_tree.h"

namespace nobs::sim {

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
