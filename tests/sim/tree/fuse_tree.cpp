#include "tests/sim/tree/fuse_tree.h"

#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "shared/base/unique_fd.h"

namespace nobs::sim {
namespace {

constexpr int kThreads = 8;  // a read that hangs keeps one
constexpr size_t kPage = 4096;

struct Answer {
  std::string content;
  int error = 0;
};

// sysfs counts the notifications of a file, and for each open file the last one that a read has seen.
struct OpenFile {
  std::string path;
  UniqueFd directory;  // of the file, to see that the device is gone although its name is back
  std::string name;
  std::uint64_t seen = 0;
};

}  // namespace

struct FuseTree::State {
  UniqueFd root;
  struct fuse* fuse = nullptr;
  UniqueFd end{::eventfd(0, EFD_CLOEXEC)};
  std::vector<std::thread> threads;

  mutable std::mutex mutex;
  std::condition_variable released;
  std::set<std::string> hung;
  int hanging = 0;
  std::map<std::string, Answer> answers;
  std::map<OpenFile*, std::unique_ptr<OpenFile>>
      open;                                       // the kernel does not release them at an unmount
  std::map<std::string, std::uint64_t> notified;  // absent: 1
  std::multimap<std::string, fuse_pollhandle*> polls;

  std::uint64_t notifications(const std::string& path) const {
    const auto found = notified.find(path);
    return found == notified.end() ? 1 : found->second;
  }
  bool is_hung(const std::string& path) const {
    return std::ranges::any_of(hung, [&](const std::string& prefix) {
      return path == prefix || path.starts_with(prefix + "/");
    });
  }
  // The directory in which the file was opened is still the one at its path.
  bool is_there(const OpenFile& file) const {
    const std::string directory = file.path.substr(0, file.path.size() - file.name.size());
    struct stat opened {
    }, now{};
    return ::fstat(file.directory.get(), &opened) == 0 &&
           ::fstatat(root.get(), directory.c_str(), &now, 0) == 0 && opened.st_ino == now.st_ino;
  }

  int read(OpenFile& file, char* buffer, size_t size, off_t offset);
  unsigned poll(OpenFile& file, fuse_pollhandle* handle);
  void serve();

  static State& self() { return *static_cast<State*>(fuse_get_context()->private_data); }
  static const char* below(const char* path);
  static fuse_operations operations();
};

int FuseTree::State::read(OpenFile& file, char* buffer, size_t size, off_t offset) {
  std::optional<Answer> instead;
  {
    std::unique_lock lock(mutex);
    if (is_hung(file.path)) {
      ++hanging;
      released.wait(lock, [&] { return !is_hung(file.path); });
      --hanging;
    }
    file.seen = notifications(file.path);
    if (const auto found = answers.find(file.path); found != answers.end()) instead = found->second;
  }
  if (!is_there(file)) return -ENODEV;
  if (instead && instead->error != 0) return -instead->error;
  if (!instead) {
    const UniqueFd fd(::openat(file.directory.get(), file.name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno == ENOENT ? -ENODEV : -errno;
    const ssize_t count = ::pread(fd.get(), buffer, size, offset);
    return count < 0 ? -errno : static_cast<int>(count);
  }
  const auto from = std::min(static_cast<size_t>(offset), instead->content.size());
  const size_t count = std::min(size, instead->content.size() - from);
  std::memcpy(buffer, instead->content.data() + from, count);
  return static_cast<int>(count);
}

unsigned FuseTree::State::poll(OpenFile& file, fuse_pollhandle* handle) {
  const std::scoped_lock lock(mutex);
  if (handle != nullptr) polls.emplace(file.path, handle);
  const unsigned ready = POLLIN | POLLOUT;
  return file.seen != notifications(file.path) || !is_there(file) ? ready | POLLPRI | POLLERR
                                                                  : ready;
}

void FuseTree::State::serve() {
  fuse_session* session = fuse_get_session(fuse);
  fuse_buf buffer{};
  std::array<pollfd, 2> polled{{{fuse_session_fd(session), POLLIN, 0}, {end.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) break;
    if ((polled[1].revents & POLLIN) != 0) break;
    const int size = fuse_session_receive_buf(
        session, &buffer);  // does not block: another thread may have been faster
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    fuse_session_process_buf(session, &buffer);
  }
  std::free(buffer.mem);  // allocated by libfuse
}

// "/sys/module" -> "sys/module"; the root itself is ".".
const char* FuseTree::State::below(const char* path) { return path[1] == '\0' ? "." : path + 1; }

fuse_operations FuseTree::State::operations() {
  fuse_operations operations{};
  operations.init = [](fuse_conn_info*, fuse_config* config) {
    config->use_ino = 1;    // a directory made anew is seen to be another one
    config->direct_io = 1;  // every read asks us
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    return fuse_get_context()->private_data;
  };
  operations.getattr = [](const char* path, struct stat* status, fuse_file_info*) {
    if (::fstatat(self().root.get(), below(path), status, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
    if (S_ISREG(status->st_mode)) status->st_size = kPage;  // as sysfs, whatever the content
    return 0;
  };
  operations.readlink = [](const char* path, char* buffer, size_t size) {
    const ssize_t count = ::readlinkat(self().root.get(), below(path), buffer, size - 1);
    if (count < 0) return -errno;
    buffer[count] = '\0';
    return 0;
  };
  operations.readdir = [](const char* path, void* buffer, fuse_fill_dir_t fill, off_t,
                          fuse_file_info*, fuse_readdir_flags) {
    const int fd = ::openat(self().root.get(), below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* directory = fd < 0 ? nullptr : ::fdopendir(fd);
    if (directory == nullptr) return -errno;
    while (const dirent* entry = ::readdir(directory)) {
      struct stat status {};
      status.st_ino = entry->d_ino;
      status.st_mode = static_cast<mode_t>(entry->d_type) << 12U;
      fill(buffer, entry->d_name, &status, 0, fuse_fill_dir_flags{});
    }
    ::closedir(directory);
    return 0;
  };
  operations.open = [](const char* path, fuse_file_info* info) {
    const std::string file = below(path);
    const size_t slash = file.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : file.substr(0, slash);
    auto open = std::make_unique<OpenFile>();
    open->path = file;
    open->name = slash == std::string::npos ? file : file.substr(slash + 1);
    open->directory.reset(::openat(self().root.get(), directory.c_str(), O_PATH | O_CLOEXEC));
    if (!open->directory) return -errno;
    info->fh = reinterpret_cast<std::uintptr_t>(open.get());
    const std::scoped_lock lock(self().mutex);
    auto* const key = open.get();
    self().open.emplace(key, std::move(open));
    return 0;
  };
  operations.read = [](const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
    return self().read(*reinterpret_cast<OpenFile*>(info->fh), buffer, size, offset);
  };
  operations.release = [](const char*, fuse_file_info* info) {
    const std::scoped_lock lock(self().mutex);
    self().open.erase(reinterpret_cast<OpenFile*>(info->fh));
    return 0;
  };
  operations.poll = [](const char*, fuse_file_info* info, fuse_pollhandle* handle,
                       unsigned* ready) {
    *ready = self().poll(*reinterpret_cast<OpenFile*>(info->fh), handle);
    return 0;
  };
  return operations;
}

Result<std::unique_ptr<FuseTree>> FuseTree::mount(const std::string& directory,
                                                  const std::string& mountpoint) {
  const auto cannot = [&](const std::string& what) {
    return Error{ErrorCode::Unreachable,
                 what + ": " + std::generic_category().message(errno) + "; FUSE is needed here",
                 0,
                 {}};
  };
  if (!UniqueFd(::open("/dev/fuse", O_RDWR | O_CLOEXEC))) return cannot("cannot open /dev/fuse");
  auto state = std::make_unique<State>();
  state->root.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!state->root) return cannot("cannot open " + directory);

  std::string name = "nobs-sim-tree";
  std::array<char*, 2> words{name.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words.data());
  const fuse_operations operations = State::operations();
  state->fuse = fuse_new(&arguments, &operations, sizeof operations, state.get());
  fuse_opt_free_args(&arguments);
  if (state->fuse == nullptr) return cannot("cannot start FUSE");
  if (fuse_mount(state->fuse, mountpoint.c_str()) != 0) {
    const Error error = cannot("cannot mount on " + mountpoint);
    fuse_destroy(state->fuse);
    return error;
  }
  const int fd = fuse_session_fd(fuse_get_session(state->fuse));
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  for (int thread = 0; thread < kThreads; ++thread)
    state->threads.emplace_back([serving = state.get()] { serving->serve(); });
  return std::unique_ptr<FuseTree>(new FuseTree(std::move(state)));
}

FuseTree::FuseTree(std::unique_ptr<State> state) : state_(std::move(state)) {}

FuseTree::~FuseTree() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->hung.clear();
    state_->released.notify_all();
  }
  ::eventfd_write(state_->end.get(), 1);
  for (std::thread& thread : state_->threads) thread.join();
  for (const auto& [path, handle] : state_->polls) fuse_pollhandle_destroy(handle);
  fuse_unmount(state_->fuse);  // what is still asked is answered with an error
  fuse_destroy(state_->fuse);
}

void FuseTree::hang(const std::string& path) {
  const std::scoped_lock lock(state_->mutex);
  state_->hung.insert(path);
}

void FuseTree::release(const std::string& path) {
  const std::scoped_lock lock(state_->mutex);
  state_->hung.erase(path);
  state_->released.notify_all();
}

int FuseTree::hanging() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->hanging;
}

void FuseTree::answer(const std::string& path, std::string content) {
  const std::scoped_lock lock(state_->mutex);
  state_->answers[path] = {std::move(content), 0};
}

void FuseTree::fail(const std::string& path, int error) {
  const std::scoped_lock lock(state_->mutex);
  state_->answers[path] = {"", error};
}

void FuseTree::answer_truly(const std::string& path) {
  const std::scoped_lock lock(state_->mutex);
  state_->answers.erase(path);
}

void FuseTree::notify(const std::string& path) {
  std::vector<fuse_pollhandle*> handles;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->notified[path] = state_->notifications(path) + 1;
    const auto [first, last] = state_->polls.equal_range(path);
    for (auto at = first; at != last; ++at) handles.push_back(at->second);
    state_->polls.erase(first, last);
  }
  for (fuse_pollhandle* handle : handles) {
    fuse_notify_poll(handle);
    fuse_pollhandle_destroy(handle);
  }
}

}  // namespace nobs::sim
