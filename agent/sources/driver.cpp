#include "agent/sources/driver.h"

#include <fcntl.h>

#include <vector>

#include "agent/sources/value.h"
#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

constexpr const char* kModule = "module/neuron";
constexpr const char* kInitstate = "module/neuron/initstate";

DriverState state_of(const std::optional<std::string>& initstate) {
  const auto word = initstate ? parse_word(*initstate) : std::nullopt;
  if (word == "live") return DriverState::Live;
  if (word == "going") return DriverState::Unloading;
  return DriverState::Coming;  // also a module that shows no state: it may not be read
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 4) return std::nullopt;
  std::vector<int> numbers(4, 0);
  for (size_t at = 0; at < parts.size(); ++at) {
    const auto number = parse_u64(parts[at]);
    if (!number || *number > 99'999) return std::nullopt;
    numbers[at] = static_cast<int>(*number);
  }
  return Version{numbers[0], numbers[1], numbers[2]};
}

Driver read_driver(const Root& sysfs) {
  Driver driver;
  const UniqueFd module = sysfs.open(kModule, O_PATH | O_DIRECTORY);
  if (!module) return driver;
  driver.state = state_of(sysfs.text(kInitstate));
  driver.load = directory_identity(module.get());
  const auto text = sysfs.text("module/neuron/version");
  driver.version_text = text ? parse_word(*text).value_or("") : "";
  driver.version = parse_version(driver.version_text);
  return driver;
}

bool is_live(const Root& sysfs) { return state_of(sysfs.text(kInitstate)) == DriverState::Live; }

std::string make_epoch(std::string_view boot_id, std::string_view load) {
  // Hashed: it goes into objects and labels, and only has to differ.
  return std::string(boot_id) + (load.empty() ? "" : "/" + hex16(fnv1a(load)));
}

}  // namespace nobs::sources
