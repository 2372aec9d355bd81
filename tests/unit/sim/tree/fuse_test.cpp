#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <future>

#include "shared/base/unique_fd.h"
#include "tests/sim/tree/mount_or_skip.h"
#include "tests/sim/tree/tree.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"

namespace {

using namespace nobs;
using namespace nobs::sim;
using nobs::test::Directory;
using namespace std::chrono_literals;

UniqueFd open_in(const Directory& mount, const std::string& path) {
  return UniqueFd(::open((mount.path() + "/" + path).c_str(), O_RDONLY | O_CLOEXEC));
}

// The text, or the errno in brackets.
std::string read(const UniqueFd& fd) {
  std::array<char, 8192> buffer{};
  const ssize_t count = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  return count < 0 ? "[" + std::to_string(errno) + "]"
                   : std::string(buffer.data(), static_cast<size_t>(count));
}

short polled(const UniqueFd& fd, std::chrono::milliseconds limit) {
  pollfd one{fd.get(), POLLPRI, 0};
  ::poll(&one, 1, static_cast<int>(limit.count()));
  return one.revents;
}

}  // namespace

TEST_CASE("a mounted tree shows new values on open files, hangs, lies, and fails when told") {
  const Directory place, mountpoint;
  DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  const auto fuse = mount_or_skip(place.path(), mountpoint.path());
  if (!fuse) return;
  const std::string ecc = tree.path(0, "stats/hardware/mem_ecc_uncorrected");
  const UniqueFd fd = open_in(mountpoint, ecc);
  CHECK(read(fd) == "0\n");
  tree.add_ecc(0, "mem_ecc_uncorrected");
  CHECK(read(fd) == "1\n");

  fuse->answer(ecc, std::string(5000, '7'));
  CHECK(read(fd).size() == 5000);
  fuse->fail(ecc, EIO);
  CHECK(read(fd) == "[5]");
  fuse->answer_truly(ecc);

  fuse->hang(tree.path(0, "stats"));
  auto stuck = std::async(std::launch::async, [&] { return read(fd); });
  REQUIRE(test::eventually(5s, [&] { return fuse->hanging() == 1; }));
  CHECK(read(open_in(mountpoint, "sys/module/neuron/version")) == "2.30.2.0\n");
  CHECK(stuck.wait_for(0s) == std::future_status::timeout);
  fuse->release(tree.path(0, "stats"));
  CHECK(stuck.get() == "1\n");
}

TEST_CASE(
    "an open file of a device that went away answers ENODEV, also when another device took its "
    "place") {
  const Directory place, mountpoint;
  DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  const auto fuse = mount_or_skip(place.path(), mountpoint.path());
  if (!fuse) return;
  const std::string path = tree.path(0, "info/serial_number");
  const UniqueFd fd = open_in(mountpoint, path);
  CHECK(read(fd) == tree.serial(0) + "\n");
  tree.replace_device(0);
  CHECK(read(fd) == "[" + std::to_string(ENODEV) + "]");
  CHECK(read(open_in(mountpoint, path)) == tree.serial(0) + "\n");
  CHECK((polled(fd, 0ms) & POLLPRI) != 0);
}

TEST_CASE("poll fires before the first read, then only after a notification, until the next read") {
  const Directory place, mountpoint;
  DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  const auto fuse = mount_or_skip(place.path(), mountpoint.path());
  if (!fuse) return;
  const std::string event = tree.path(0, "stats/hardware/health_status/hw_error_event");
  const UniqueFd fd = open_in(mountpoint, event);
  CHECK((polled(fd, 0ms) & POLLPRI) != 0);
  read(fd);
  CHECK(polled(fd, 0ms) == 0);

  auto waiting = std::async(std::launch::async, [&] { return polled(fd, 10s); });
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  tree.hbm_uncorrectable(0);
  fuse->notify(event);
  CHECK((waiting.get() & POLLPRI) != 0);
  CHECK((polled(fd, 0ms) & POLLPRI) != 0);
  CHECK(read(fd) == "1\n");
  CHECK(polled(fd, 0ms) == 0);
}
