#include "shared/base/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "shared/base/unique_fd.h"
#include "tests/support/directory.h"

namespace nobs {
using test::Directory;

TEST_CASE("a file is read whole up to the limit and refused beyond it") {
  const Directory directory;
  const std::string path = directory.path() + "/f";
  REQUIRE(write_file_atomically(path, std::string(40'000, 'x')));
  CHECK(read_file(path, 40'000)->size() == 40'000);
  const auto too_large = read_file(path, 39'999);
  REQUIRE_FALSE(too_large);
  CHECK(too_large.error().message.find(path) != std::string::npos);
}

TEST_CASE("an absent file is NotFound, a directory an error, /proc is read though its size is 0") {
  const Directory directory;
  CHECK(read_file(directory.path() + "/none", 10).error().is_not_found());
  CHECK_FALSE(read_file(directory.path(), 10));
  CHECK(read_file("/proc/self/stat", 10'000)->size() > 10);
}

TEST_CASE(
    "writing replaces the file in one step, readable by its owner only, and leaves nothing else") {
  const Directory directory;
  const std::string path = directory.path() + "/f";
  REQUIRE(write_file_atomically(path, "old"));
  REQUIRE(write_file_atomically(path, "new"));
  CHECK(*read_file(path, 10) == "new");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    ++files;
  }
  CHECK(files == 1);
  CHECK(write_file_atomically(directory.path() + "/no/such/f", "x").error().is_not_found());
}

TEST_CASE("a descriptor is closed once, by its last owner") {
  int raw = -1;
  {
    UniqueFd first(::dup(0));
    raw = first.get();
    REQUIRE(first);
    UniqueFd second(std::move(first));
    CHECK(second.get() == raw);
    UniqueFd third;
    third = std::move(second);
    CHECK(third.get() == raw);
    CHECK(::fcntl(raw, F_GETFD) >= 0);
  }
  CHECK(::fcntl(raw, F_GETFD) == -1);
}

}  // namespace nobs
