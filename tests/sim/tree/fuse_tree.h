// Mounts a simulated tree through FUSE, where it can do what a plain directory cannot: hang a read, answer ENODEV on
// an open file whose device is gone, answer nonsense, and notify poll(POLLPRI) as sysfs does.
//
// For tests. Needs /dev/fuse and the right to mount. Thread-safe. Paths are below the root, as DriverTree gives them;
// the tree itself is changed through DriverTree, in the directory that is mounted.
//
//   auto fuse = FuseTree::mount(tree.root(), mountpoint);
//   if (!fuse) ... fuse.error().message says why; skip the test, or fail it where CI is set
//   fuse->hang(tree.path(3, "stats/hardware"));   // every file below it
#pragma once

#include <memory>
#include <string>

#include "shared/base/result.h"

namespace nobs::sim {

class FuseTree {
 public:
  static Result<std::unique_ptr<FuseTree>> mount(const std::string& directory,
                                                 const std::string& mountpoint);
  // Releases what hangs, unmounts.
  ~FuseTree();
  FuseTree(const FuseTree&) = delete;
  FuseTree& operator=(const FuseTree&) = delete;

  // Reads of this file, or of the files below this directory, do not return until released. At most six at a time.
  void hang(const std::string& path);
  void release(const std::string& path);
  int hanging() const;  // reads that wait now

  void answer(const std::string& path, std::string content);  // instead of the content
  void fail(const std::string& path, int error);              // an errno
  void answer_truly(const std::string& path);                 // takes both back

  // As sysfs_notify: who polls an open file of this path wakes, and must read it before the next poll waits.
  void notify(const std::string& path);

 private:
  struct State;
  explicit FuseTree(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nobs::sim
