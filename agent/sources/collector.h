// Reads the whole node once per cycle: one worker thread per device, so that a device that hangs hides no other.
//
// For the agent's main loop, from one thread; `wake` may be called from any. Real time is used for the deadline and
// for waiting, the clock for what is written into the reading. A worker that is stuck in the kernel is left behind,
// also when the collector is destroyed; there is never a second one for its device, and it never keeps the process
// from ending.
//
//   Collector collector({"/sys", "/proc"}, clock);
//   do publish(judge(collector.collect(stop)));
//   while (collector.wait_for_event(1s, stop) || !stop.stop_requested());
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/sources/device_reader.h"
#include "agent/sources/reading.h"
#include "shared/base/clock.h"

namespace nobs::sources {

struct Roots {
  std::string sysfs = "/sys";
  std::string proc = "/proc";
};

struct CollectorOptions {
  std::chrono::milliseconds deadline{2'000};  // of a cycle, for every device
  std::chrono::milliseconds settle{5'000};    // after a load, for drivers before 2.26.5
  KeepFiles keep = KeepFiles::Auto;
  std::chrono::nanoseconds telemetry_interval =
      std::chrono::seconds(5);  // of what only metrics need
};

class Collector {
 public:
  Collector(const Roots& roots, Clock& clock, CollectorOptions options = {});
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // After a stop the reading is not to be used: nobody waited for the devices.
  NodeReading collect(const std::stop_token& stop);

  // Until a device's hw_error_event fires (true), `wake` is called (true), the time is over or stop is requested
  // (false). Only devices that answered in the last cycle are listened to.
  bool wait_for_event(std::chrono::milliseconds duration, const std::stop_token& stop);
  void wake();
  // What metrics need besides what health rests on (layout.h, telemetry_keys); null: everything. From any thread.
  void want(std::shared_ptr<const std::set<std::string, std::less<>>> keys);

 private:
  struct Worker;
  struct Board;

  void scan_pci(NodeReading& reading);
  void follow_devices(const std::vector<int>& present);
  void ask(const Driver& driver);
  void take(NodeReading& reading);
  void dismiss_all();
  static void run(const std::shared_ptr<Board>& board, const std::shared_ptr<Worker>& worker);

  Clock& clock_;
  CollectorOptions options_;
  std::shared_ptr<const Root> sysfs_;
  Root proc_;
  std::shared_ptr<Board> board_;
  std::map<int, std::shared_ptr<Worker>> workers_;
  std::map<std::string, bool> functions_;  // PCI address -> is it a Neuron device
  std::uint64_t cycles_ = 0;
  std::string load_;
  SteadyTime loaded_at_{};
};

}  // namespace nobs::sources
