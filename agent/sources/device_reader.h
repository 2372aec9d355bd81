// Reads one device: finds its files once per load, then the same short list at each cycle.
//
// For the device's worker thread, which alone may call it; `progress` and `event_file` are for others. A read may
// block in the kernel for long when the device is dying: the caller supervises (collector.h).
//
//   DeviceReader reader(sysfs, 3);
//   DeviceReading reading = reader.read(driver, KeepFiles::Auto);
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sources/driver.h"
#include "agent/sources/files.h"
#include "agent/sources/layout.h"
#include "agent/sources/reading.h"

namespace nobs::sources {

// Whether descriptors stay open between cycles: one system call per value instead of three.
enum class KeepFiles {
  Auto,  // on sysfs; a directory of files that are replaced by rename would show old values
  Never,
  Always,  // not for fragile drivers, all the same
};

// What is read besides that on which health rests.
struct TelemetryWish {
  bool is_due = false;                                             // in this cycle
  std::shared_ptr<const std::set<std::string, std::less<>>> keys;  // Identity::key(); null: all
};

// Below sysfs; one directory per device.
inline constexpr std::string_view kDevicesPath = "devices/virtual/neuron_device";

// The file that is being read, for the message about a read that hangs. Thread-safe.
struct Progress {
  std::atomic<const Identity*> identity = nullptr;
  std::atomic<int> core = -1;
  std::string describe() const;  // "core 3 hw_error"; empty between reads
};

class DeviceReader {
 public:
  DeviceReader(std::shared_ptr<const Root> sysfs, int index, std::shared_ptr<Progress> progress);

  DeviceReading read(const Driver& driver, KeepFiles keep, const TelemetryWish& wish = {});
  // Gives every descriptor back, so that the driver can be unloaded.
  void close();

  Layout layout() const { return layout_.layout; }
  // hw_error_event, open and just read: ready for POLLPRI until the next call of read(). Null: this driver has none.
  std::shared_ptr<const UniqueFd> event_file() const { return event_; }

 private:
  void discover(int directory, const Driver& driver, KeepFiles keep);
  void describe(DeviceReading& reading) const;
  void arm_event(int directory);
  void read_places(int directory, const Driver& driver, DeviceReading& reading);
  void read_telemetry(int directory, const TelemetryWish& wish, DeviceReading& reading);
  int read_place(int directory, size_t place, Buffer& buffer, std::string_view& text);
  bool read_and_store(int directory, size_t place, DeviceReading& reading);

  std::shared_ptr<const Root> sysfs_;
  int index_;
  std::string path_;
  std::shared_ptr<Progress> progress_;

  // As of the last discovery.
  std::string known_;  // identities of the directory and of the load
  DeviceLayout layout_;
  std::string architecture_, core_architecture_, family_, device_name_, connected_;
  std::vector<std::string> missing_;
  bool keep_ = false;
  bool is_stale_ = true;         // a file is gone: look again
  unsigned discoveries_ = 0;     // in this load
  unsigned cycles_to_wait_ = 0;  // before an incomplete tree is looked at again

  std::vector<UniqueFd> files_;  // by place; kept between cycles or empty
  std::shared_ptr<UniqueFd> event_;
  std::shared_ptr<const DeviceTelemetry> telemetry_;
  std::uint64_t telemetry_number_ = 0;
  size_t values_read_ = 0, denied_ = 0;  // in this cycle
};

}  // namespace nobs::sources
