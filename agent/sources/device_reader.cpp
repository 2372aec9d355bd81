#include "agent/sources/device_reader.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "agent/sources/instance.h"
#include "agent/sources/value.h"

namespace nobs::sources {
namespace {

constexpr int kDepth = 8;
constexpr size_t kMaxFiles = 20'000;  // a Trn2 device has 850
// A tree that is incomplete may still be growing (right after a load), or be so for good: looked at again after 1, 2,
// 4 … cycles.
constexpr unsigned kMaxWait = 64;
// Discoveries within the first ten seconds or so, while "nothing known found" means "not there yet".
constexpr unsigned kEarly = 4;
constexpr std::string_view kAllOnes = "ffffffffffffffff";

bool is_sysfs(int directory) {
  struct statfs status {};
  return ::fstatfs(directory, &status) == 0 && status.f_type == SYSFS_MAGIC;
}

bool is_gone(int error) { return error == ENODEV || error == ENOENT; }

std::string message_of(int error) { return std::generic_category().message(error); }

template <typename T>
bool assign(std::optional<T>& target, std::optional<T> value) {
  target = std::move(value);
  return target.has_value();
}

// False: the text is not in the grammar.
bool store(const Place& place, std::string_view text, DeviceReading& reading) {
  const auto word = [&](std::string& target) {
    auto value = parse_word(text);
    if (value) target = std::move(*value);
    return value.has_value();
  };
  switch (place.identity->field) {
    case Field::Architecture:
      return word(reading.architecture);
    case Field::CoreArchitecture:
      return word(reading.core_architecture);
    case Field::InstanceFamily:
      return word(reading.instance_family);
    case Field::DeviceName:
      return word(reading.device_name);
    case Field::State:
      return assign(reading.state, parse_state(text));
    case Field::HwErrorEvent:
      return assign(reading.hw_error_event, parse_number(text));
    case Field::Power:
      return assign(reading.power, parse_power(text));
    case Field::MemoryUncorrected:
      return assign(reading.ecc.memory_uncorrected, parse_number(text));
    case Field::MemoryRepairable:
      return assign(reading.ecc.memory_repairable_uncorrected, parse_number(text));
    case Field::SramUncorrected:
      return assign(reading.ecc.sram_uncorrected, parse_number(text));
    case Field::SramCorrected:
      return assign(reading.ecc.sram_corrected, parse_number(text));
    case Field::MemoryCorrected:
      return assign(reading.ecc.memory_corrected, parse_number(text));
    case Field::CoreMemory:
      return assign(reading.cores.back().device_memory_bytes, parse_number(text));
    case Field::Components: {
      auto components = parse_components(text);
      if (!components) return false;
      reading.reported_unreachable |= components->unreachable;
      if (!components->unreachable) reading.unhealthy_components = std::move(components->names);
      return true;
    }
    case Field::Heartbeat: {
      const auto heartbeat = parse_heartbeat(text);
      if (!heartbeat) return false;
      reading.reported_unreachable |= heartbeat->unreachable;
      if (!heartbeat->unreachable) reading.heartbeat = heartbeat->sequence;
      return true;
    }
    case Field::Serial: {
      auto serial = parse_serial(text);
      if (serial) reading.serial = std::move(*serial);
      return serial.has_value();
    }
    case Field::CoreCounter: {
      const auto number = parse_number(text);
      if (number) reading.cores.back().counters.emplace(place.identity->name(), *number);
      return number.has_value();
    }
    case Field::ConnectedDevices: {
      auto list = parse_device_list(text);
      if (list) reading.connected_devices = std::move(*list);
      return list.has_value();
    }
    case Field::HostMemory:
    case Field::CoreTelemetry:
      return false;  // not part of a reading
  }
  return false;
}

}  // namespace

std::string Progress::describe() const {
  const Identity* at = identity.load();
  if (at == nullptr) return "";
  const int of = core.load();
  return (of < 0 ? "" : "core " + std::to_string(of) + " ") + std::string(at->name());
}

DeviceReader::DeviceReader(std::shared_ptr<const Root> sysfs, int index,
                           std::shared_ptr<Progress> progress)
    : sysfs_(std::move(sysfs)),
      index_(index),
      path_(std::string(kDevicesPath) + "/neuron" + std::to_string(index)),
      progress_(std::move(progress)) {}

void DeviceReader::close() {
  files_.clear();
  event_.reset();
  telemetry_.reset();
  is_stale_ = true;
}

DeviceReading DeviceReader::read(const Driver& driver, KeepFiles keep, const TelemetryWish& wish) {
  DeviceReading reading;
  reading.index = index_;
  values_read_ = denied_ = 0;
  const auto fail = [&](ReadProblem problem, std::string detail) {
    reading.problem = problem;
    reading.problem_detail = std::move(detail);
    describe(reading);
    close();
    return reading;
  };
  if (!is_live(*sysfs_)) return fail(ReadProblem::Gone, "the driver is being unloaded");
  const UniqueFd directory = sysfs_->open(path_, O_PATH | O_DIRECTORY);
  if (!directory)
    return fail(errno == EACCES ? ReadProblem::Denied : ReadProblem::Gone,
                path_ + ": " + message_of(errno));

  if (const std::string now = directory_identity(directory.get()) + driver.load; now != known_) {
    known_ = now;
    discoveries_ = 0;
    is_stale_ = true;
  }
  if (is_stale_ || (!missing_.empty() && cycles_to_wait_-- == 0))
    discover(directory.get(), driver, keep);
  describe(reading);
  if (layout_.layout == Layout::Unknown) {
    const bool early = discoveries_ <= kEarly;
    reading.problem = early ? ReadProblem::NotYetRead : ReadProblem::LayoutUnknown;
    reading.problem_detail = path_ + ": none of the known files";
    return reading;
  }

  reading.problem = ReadProblem::None;
  if (!driver.is_fragile()) arm_event(directory.get());
  read_places(directory.get(), driver, reading);
  if (reading.problem == ReadProblem::None) read_telemetry(directory.get(), wish, reading);
  progress_->identity = nullptr;
  if (reading.problem == ReadProblem::Gone) close();
  if (values_read_ == 0 && denied_ > 0) reading.problem = ReadProblem::Denied;
  return reading;
}

void DeviceReader::discover(int directory, const Driver& driver, KeepFiles keep) {
  close();
  is_stale_ = false;
  cycles_to_wait_ = std::min(1U << std::min(discoveries_, 6U), kMaxWait);
  ++discoveries_;
  keep_ = !driver.is_fragile() &&
          (keep == KeepFiles::Always || (keep == KeepFiles::Auto && is_sysfs(directory)));
  const UniqueFd readable = open_below(directory, ".", O_RDONLY | O_DIRECTORY);
  layout_ = find_layout(driver.version, files_below(readable.get(), kDepth, kMaxFiles));
  files_.resize(layout_.places.size());

  DeviceReading constants;
  for (size_t at = 0; at < layout_.places.size(); ++at)
    if (layout_.places[at].identity->is_constant()) read_and_store(directory, at, constants);
  architecture_ = constants.architecture;
  family_ = constants.instance_family;
  device_name_ = constants.device_name;
  core_architecture_ = constants.core_architecture;
  connected_ = constants.connected_devices;
  missing_ = find_missing(layout_, driver.version, family_);
}

void DeviceReader::describe(DeviceReading& reading) const {
  reading.architecture = architecture_;
  reading.instance_family = family_;
  reading.device_name = device_name_;
  reading.core_architecture = core_architecture_;
  reading.connected_devices = connected_;
  if (const Family* facts = find_family(family_)) reading.memory_bytes = facts->memory_bytes;
  reading.missing = missing_;
  reading.layout_conflicts = layout_.conflicts;
}

// Before the values are read: a change after this read either is in the values or wakes the poll.
void DeviceReader::arm_event(int directory) {
  const auto place = std::ranges::find_if(layout_.places, [](const Place& candidate) {
    return candidate.identity->field == Field::HwErrorEvent;
  });
  if (place == layout_.places.end()) return;
  if (!event_) {
    UniqueFd fd = open_below(directory, place->path.c_str(), O_RDONLY);
    if (!fd) return;
    event_ = std::make_shared<UniqueFd>(std::move(fd));
  }
  Buffer buffer;
  std::string_view text;
  progress_->core = -1;
  progress_->identity = place->identity;
  if (is_gone(read_value(event_->get(), buffer, text)))
    event_.reset();  // polling it would return at once, for ever
}

void DeviceReader::read_places(int directory, const Driver& driver, DeviceReading& reading) {
  size_t serial = layout_.places.size();
  bool is_core = false;
  const auto sample_serial_again = [&] {
    if (serial == layout_.places.size() || reading.state == 0) return;
    const std::string before = std::exchange(reading.serial, "");
    read_and_store(directory, serial, reading);
    reading.serial_stable =
        !before.empty() && before == reading.serial && reading.serial != kAllOnes;
  };
  for (size_t at = 0; at < layout_.places.size(); ++at) {
    const Place& place = layout_.places[at];
    const Field field = place.identity->field;
    if (place.identity->is_constant() || place.identity->is_telemetry()) continue;
    // During a reset the firmware's registers read 0 and empty, and up to driver 2.24.7 block for 15 to 75 s.
    if (reading.state == 0 && field >= Field::Serial && field <= Field::MemoryCorrected) continue;
    if (field == Field::Serial) serial = at;
    if (place.core >= 0 && !std::exchange(is_core, true)) sample_serial_again();
    if (place.core >= 0 && (reading.cores.empty() || reading.cores.back().index != place.core)) {
      if (driver.is_fragile() && !is_live(*sysfs_)) {
        reading.problem = ReadProblem::Gone;
        reading.problem_detail = "the driver is being unloaded";
        return;
      }
      reading.cores.push_back({.index = place.core});
    }
    if (!read_and_store(directory, at, reading)) return;
  }
  if (!is_core) sample_serial_again();
}

// A value that cannot be read is left out, whatever the reason: the next reading of health tells it.
void DeviceReader::read_telemetry(int directory, const TelemetryWish& wish,
                                  DeviceReading& reading) {
  if (wish.is_due) {
    auto now = std::make_shared<DeviceTelemetry>();
    for (size_t at = 0; at < layout_.places.size(); ++at) {
      const Place& place = layout_.places[at];
      if (!place.identity->is_telemetry()) continue;
      if (place.core >= 0 && (now->cores.empty() || now->cores.back().index != place.core))
        now->cores.push_back({place.core, {}});
      if (wish.keys && !wish.keys->contains(place.identity->key())) continue;
      Buffer buffer;
      std::string_view text;
      if (read_place(directory, at, buffer, text) != 0) continue;
      const auto number = parse_number(text);
      if (!number) {
        if (!text.empty()) reading.unparsed.emplace_back(place.path);
        continue;
      }
      auto& values = place.core < 0 ? now->device : now->cores.back().values;
      values.push_back({place.identity->key(), *number});
    }
    now->number = ++telemetry_number_;
    telemetry_ = std::move(now);
  }
  reading.telemetry = telemetry_;
}

// False: the device is gone, there is nothing more to read.
bool DeviceReader::read_and_store(int directory, size_t place, DeviceReading& reading) {
  const Place& what = layout_.places[place];
  Buffer buffer;
  std::string_view text;
  const int error = read_place(directory, place, buffer, text);
  if (error == 0) {
    ++values_read_;
    if (!text.empty() && !store(what, text, reading))  // an empty read is no value, not a wrong one
      reading.unparsed.emplace_back(what.path);
    return true;
  }
  if (error == EFBIG) {
    reading.unparsed.emplace_back(what.path);
    return true;
  }
  if (error == EACCES || error == EPERM) ++denied_;
  if (reading.problem_detail.empty()) reading.problem_detail = what.path + ": " + message_of(error);
  if (!is_gone(error)) return true;
  is_stale_ = true;
  // A file alone may go; the whole device is gone when its directory is another one, or none.
  const UniqueFd now = sysfs_->open(path_, O_PATH | O_DIRECTORY);
  if (now && directory_identity(now.get()) == directory_identity(directory)) return true;
  reading.problem = ReadProblem::Gone;
  return false;
}

int DeviceReader::read_place(int directory, size_t place, Buffer& buffer, std::string_view& text) {
  const Place& what = layout_.places[place];
  progress_->core = what.core;
  progress_->identity = what.identity;
  UniqueFd& kept = files_[place];
  if (!kept) kept = open_below(directory, what.path.c_str(), O_RDONLY);
  if (!kept && errno == EMFILE && keep_) {
    keep_ = false;  // too few descriptors for all: open and close, as for old drivers
    for (UniqueFd& file : files_) file.reset();
    kept = open_below(directory, what.path.c_str(), O_RDONLY);
  }
  if (!kept) return errno;
  const int error = read_value(kept.get(), buffer, text);
  if (!keep_ || is_gone(error)) kept.reset();
  return error;
}

}  // namespace nobs::sources
