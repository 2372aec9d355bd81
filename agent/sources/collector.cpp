#include "agent/sources/collector.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "agent/sources/instance.h"
#include "agent/sources/value.h"
#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

using RealTime = std::chrono::steady_clock::time_point;

constexpr int kMaxDevices = 64;  // the driver's limit, and so ours for threads
// An event file that fires without a change of its value this often is not listened to until it changes.
constexpr int kFalseAlarms = 3;
// Descriptors kept by 16 devices with 8 cores are 1,900.
constexpr rlim_t kFiles = 65'536;

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFiles) return;
  limit.rlim_cur = std::min(limit.rlim_max, kFiles);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // refused: the readers open and close instead
}

// "neuron12" -> 12
std::optional<int> device_index(std::string_view name) {
  constexpr std::string_view kPrefix = "neuron";
  if (!name.starts_with(kPrefix) || name.size() > kPrefix.size() + 2) return std::nullopt;
  const auto index = parse_u64(name.substr(kPrefix.size()));
  if (!index || *index >= kMaxDevices) return std::nullopt;
  return static_cast<int>(*index);
}

DeviceReading description_of(const DeviceReading& device) {
  DeviceReading about;
  about.instance_family = device.instance_family;
  about.device_name = device.device_name;
  about.architecture = device.architecture;
  about.core_architecture = device.core_architecture;
  about.memory_bytes = device.memory_bytes;
  about.missing = device.missing;
  return about;
}

std::string first_line(const std::optional<std::string>& text) {
  return text ? std::string(trim(*text)) : "";
}

}  // namespace

// Guarded by Board::mutex, but for what is said to be the worker's own.
struct Collector::Worker {
  Worker(int device, std::shared_ptr<const Root> sysfs)
      : index(device), reader(std::move(sysfs), device, progress) {}

  const int index;
  const std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  DeviceReader reader;  // the worker's own

  bool asked = false;  // there is something to do
  bool busy = false;   // it is being done
  bool stuck = false;  // it was already being done when the cycle began: nobody waits for it
  bool dismissed = false;
  bool is_over = false;  // the thread has left
  RealTime since{};      // of the read that is under way
  Driver driver;
  KeepFiles keep = KeepFiles::Auto;
  TelemetryWish wish;

  std::optional<DeviceReading> answer;
  RealTime answered_at{};
  Layout layout = Layout::Unknown;
  std::shared_ptr<const UniqueFd> event;

  // The collector's own.
  SteadyTime telemetry_at = SteadyTime::min();  // when metrics were last asked for
  DeviceReading about;  // what does not change while the device cannot be read
  std::optional<std::uint64_t> last_event;
  bool fired = false;
  int false_alarms = 0;
};

struct Collector::Board {
  std::mutex mutex;
  std::condition_variable_any asked;     // workers wait for work
  std::condition_variable_any answered;  // the collector waits for answers
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::shared_ptr<const std::set<std::string, std::less<>>> wanted;
  bool wants_anew = false;
};

Collector::Collector(const Roots& roots, Clock& clock, CollectorOptions options)
    : clock_(clock),
      options_(options),
      sysfs_(std::make_shared<const Root>(roots.sysfs)),
      proc_(roots.proc),
      board_(std::make_shared<Board>()) {
  raise_file_limit();
}

Collector::~Collector() { dismiss_all(); }

// Workers that are not stuck give their descriptors back before this returns.
void Collector::dismiss_all() {
  std::unique_lock lock(board_->mutex);
  for (auto& [index, worker] : workers_) worker->dismissed = true;
  board_->asked.notify_all();
  board_->answered.wait_for(lock, options_.deadline, [&] {
    return std::ranges::all_of(
        workers_, [](const auto& item) { return item.second->is_over || item.second->busy; });
  });
  std::erase_if(workers_, [](const auto& item) { return item.second->is_over; });
}

// Detached, because nothing can end a thread that is blocked in the kernel. Touches only what it shares.
void Collector::run(const std::shared_ptr<Board>& board, const std::shared_ptr<Worker>& worker) {
  std::unique_lock lock(board->mutex);
  for (;;) {
    board->asked.wait(lock, [&] { return worker->asked || worker->dismissed; });
    if (worker->dismissed) break;
    worker->asked = false;
    const Driver driver = worker->driver;
    const TelemetryWish wish = worker->wish;
    lock.unlock();
    DeviceReading reading = worker->reader.read(driver, worker->keep, wish);
    const RealTime now = std::chrono::steady_clock::now();
    lock.lock();
    worker->busy = false;
    worker->answer = std::move(reading);
    worker->answered_at = now;
    worker->layout = worker->reader.layout();
    worker->event = worker->reader.event_file();
    board->answered.notify_all();
  }
  worker->event.reset();
  worker->reader.close();
  worker->is_over = true;
  board->answered.notify_all();
}

NodeReading Collector::collect(const std::stop_token& stop) {
  NodeReading reading;
  reading.version = ++cycles_;
  reading.at = clock_.now();
  reading.steady = clock_.steady();
  const auto deadline = std::chrono::steady_clock::now() + options_.deadline;

  const Driver driver = read_driver(*sysfs_);
  reading.driver = driver.state;
  reading.driver_version = driver.version_text;
  reading.instance_type = first_line(sysfs_->text("devices/virtual/dmi/id/product_name"));
  reading.instance_id = first_line(sysfs_->text("devices/virtual/dmi/id/board_asset_tag"));
  reading.boot_id = first_line(proc_.text("sys/kernel/random/boot_id"));
  reading.epoch = make_epoch(reading.boot_id, driver.load);
  scan_pci(reading);

  if (driver.load != load_) {
    load_ = driver.load;
    loaded_at_ = reading.steady;
  }
  // When the driver was loaded is not to be seen: the first sight of it counts as a load.
  if (driver.state == DriverState::Live && driver.is_fragile() &&
      reading.steady - loaded_at_ < options_.settle)
    reading.driver = DriverState::Coming;
  if (reading.driver != DriverState::Live) {
    dismiss_all();
    return reading;
  }

  std::vector<int> present;  // in order
  for (const std::string& name : sysfs_->names(std::string(kDevicesPath)))
    if (const auto index = device_index(name)) present.push_back(*index);
  std::ranges::sort(present);
  follow_devices(present);
  ask(driver);
  {
    std::unique_lock lock(board_->mutex);
    board_->answered.wait_until(lock, stop, deadline, [&] {
      return std::ranges::all_of(workers_, [](const auto& item) {
        const Worker& worker = *item.second;
        return worker.dismissed || worker.answer || worker.stuck;
      });
    });
  }
  for (const int index : present) {
    DeviceReading unread;
    unread.index = index;
    reading.devices.push_back(std::move(unread));
  }
  take(reading);
  return reading;
}

void Collector::scan_pci(NodeReading& reading) {
  const std::string devices = "bus/pci/devices/";
  std::map<std::string, bool> now;
  for (const std::string& address : sysfs_->names(devices)) {
    if (const auto known = functions_.find(address); known != functions_.end()) {
      now.insert(*known);
      continue;
    }
    const auto vendor = sysfs_->text(devices + address + "/vendor");
    const auto device = sysfs_->text(devices + address + "/device");
    if (vendor && device)
      now.emplace(address, is_neuron_function(first_line(vendor), first_line(device)));
  }
  functions_ = std::move(now);
  reading.pci_functions = static_cast<int>(
      std::ranges::count_if(functions_, [](const auto& function) { return function.second; }));
  const InstanceType* type = find_instance(reading.instance_type);
  reading.expected_devices = type == nullptr ? reading.pci_functions : type->devices;
}

void Collector::follow_devices(const std::vector<int>& present) {
  const std::scoped_lock lock(board_->mutex);
  for (auto& [index, worker] : workers_)
    worker->dismissed = std::ranges::find(present, index) == present.end();
  std::erase_if(workers_, [](const auto& item) { return item.second->is_over; });
  for (const int index : present) {
    if (workers_.contains(index)) continue;
    auto worker = std::make_shared<Worker>(index, sysfs_);
    try {
      std::thread([board = board_, worker] { run(board, worker); }).detach();
    } catch (const std::system_error&) {
      continue;  // no thread to be had: said to be not yet read, tried again in the next cycle
    }
    workers_.emplace(index, std::move(worker));
  }
}

void Collector::want(std::shared_ptr<const std::set<std::string, std::less<>>> keys) {
  const std::scoped_lock lock(board_->mutex);
  board_->wanted = std::move(keys);
  board_->wants_anew = true;
}

void Collector::ask(const Driver& driver) {
  const SteadyTime now = clock_.steady();
  const std::scoped_lock lock(board_->mutex);
  for (auto& [index, worker] : workers_) {
    worker->answer.reset();  // one that came too late for its cycle
    worker->stuck = worker->busy;
    if (worker->busy || worker->dismissed) continue;
    worker->asked = worker->busy = true;
    worker->since = std::chrono::steady_clock::now();
    worker->driver = driver;
    worker->keep = options_.keep;
    // The first reading is whole; after it each device has its own place in the interval, so that no cycle reads all.
    const auto interval = options_.telemetry_interval;
    const bool is_first = worker->telemetry_at == SteadyTime::min();
    const bool is_due = is_first || board_->wants_anew || now - worker->telemetry_at >= interval;
    worker->wish = {is_due, board_->wanted};
    if (is_due) worker->telemetry_at = is_first ? now - interval * (index % 16) / 16 : now;
  }
  board_->wants_anew = false;
  board_->asked.notify_all();
}

// Fills in what the workers answered; a device without a worker stays "not yet read".
void Collector::take(NodeReading& reading) {
  const std::scoped_lock lock(board_->mutex);
  const RealTime now = std::chrono::steady_clock::now();
  for (DeviceReading& device : reading.devices) {
    const auto found = workers_.find(device.index);
    if (found == workers_.end()) continue;
    Worker& worker = *found->second;
    if (!worker.answer) {
      const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - worker.since);
      device = worker.about;
      device.index = found->first;
      device.problem = ReadProblem::Timeout;
      device.problem_detail = worker.progress->describe() + " has not answered for " +
                              std::to_string(waited.count()) + " s";
      continue;
    }
    device = std::move(*worker.answer);
    worker.answer.reset();
    device.read_at = clock_.steady() - (now - worker.answered_at);
    worker.about = description_of(device);
    const bool changed = device.hw_error_event != worker.last_event;
    worker.last_event = device.hw_error_event;
    worker.false_alarms = changed ? 0 : worker.false_alarms + (worker.fired ? 1 : 0);
    worker.fired = false;
    if (worker.layout != Layout::Unknown) reading.layout = worker.layout;
  }
}

void Collector::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(board_->wake.get(), &one, sizeof one);
}

bool Collector::wait_for_event(std::chrono::milliseconds duration, const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] { wake(); });
  std::vector<pollfd> polled{{board_->wake.get(), POLLIN, 0}};
  std::vector<Worker*> listened{nullptr};
  std::vector<std::shared_ptr<const UniqueFd>>
      held;  // a late worker may let go of its file meanwhile
  {
    const std::scoped_lock lock(board_->mutex);
    for (auto& [index, worker] : workers_) {
      if (!worker->event || worker->busy || worker->dismissed || worker->fired ||
          worker->false_alarms >= kFalseAlarms)
        continue;
      held.push_back(worker->event);
      listened.push_back(worker.get());
      // On a plain file this never fires: its poll offers only POLLIN and POLLOUT.
      polled.push_back({worker->event->get(), POLLPRI, 0});
    }
  }
  const auto end = std::chrono::steady_clock::now() + duration;
  int ready = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    ready = ::poll(polled.data(), polled.size(), std::max<int>(0, static_cast<int>(left.count())));
  } while (ready < 0 && errno == EINTR);
  for (size_t at = 1; at < polled.size(); ++at)
    if (polled[at].revents != 0) listened[at]->fired = true;
  if ((polled[0].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(board_->wake.get(), &count, sizeof count);
  }
  return ready > 0 && !stop.stop_requested();
}

}  // namespace nobs::sources
