#include "tests/sim/tree/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "shared/base/strings.h"
#include "shared/base/unique_fd.h"
#include "tests/sim/tree/profile.h"

namespace nobs::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDevices = "sys/devices/virtual/neuron_device";
constexpr std::string_view kClass = "sys/class/neuron_device";
constexpr std::string_view kModule = "sys/module/neuron";
constexpr std::string_view kPciDriver = "sys/bus/pci/drivers/neuron-driver";
constexpr std::string_view kPciRoot = "sys/devices/pci0000:00";
constexpr std::string_view kHealth = "stats/hardware/health_status/";
// Ours, beside sys and proc: options, values put aside, files being written.
constexpr std::string_view kOwn = ".sim";
const std::vector<std::string> kEccLeaves = {
    "stats/hardware/sram_ecc_uncorrected", "stats/hardware/mem_ecc_uncorrected",
    "stats/hardware/mem_ecc_repairable_uncorrected", "stats/hardware/sram_ecc_corrected",
    "stats/hardware/mem_ecc_corrected"};
constexpr std::array<std::string_view, 10> kComponents = {
    "hbm",       "firmware_service_api", "firmware_service_processor",
    "sram",      "link_intraserver",     "link_host",
    "link_efa",  "link_interserver",     "link_switch",
    "axi_fabric"};

std::string operator/(std::string_view left, std::string_view right) {
  return std::string(left) + "/" + std::string(right);
}

std::string neuron(int device) { return "neuron" + std::to_string(device); }
std::string core_name(int core) { return "neuron_core" + std::to_string(core); }

int minor_version(const std::string& version) {
  const std::vector<std::string_view> parts = split(version, '.');
  const auto number = parts.size() > 1 ? parse_u64(parts[1]) : std::nullopt;
  if (!number || parts[0] != "2") throw std::runtime_error("not a driver version: " + version);
  return static_cast<int>(*number);
}

}  // namespace

// ---- files

// Into a place nobody reads yet; makes the directories.
void DriverTree::fresh(const std::string& path, std::string_view content, unsigned mode) const {
  const std::string full = root_ / path;
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  UniqueFd fd(::open(full.c_str(), flags, mode));
  if (!fd && errno == ENOENT) {
    fs::create_directories(fs::path(full).parent_path());
    fd.reset(::open(full.c_str(), flags, mode));
  }
  const auto size = static_cast<ssize_t>(content.size());
  if (!fd || ::write(fd.get(), content.data(), content.size()) != size ||
      ((mode & 022U) != 0 && ::fchmod(fd.get(), mode) != 0))
    throw std::runtime_error("cannot write " + full);
}

// By rename: a reader sees the old value or the new one.
void DriverTree::file(const std::string& path, std::string_view content, unsigned mode) const {
  const std::string temporary = kOwn / ("file." + std::to_string(::getpid()));
  fs::remove(root_ / temporary);
  fresh(temporary, content, mode);
  fs::create_directories(fs::path(root_ / path).parent_path());
  fs::rename(root_ / temporary, root_ / path);
}

void DriverTree::link(const std::string& path, const std::string& target) const {
  const std::string full = root_ / path;
  fs::create_directories(fs::path(full).parent_path());
  fs::remove(full);
  fs::create_symlink(target, full);
}

std::string DriverTree::get(const std::string& path) const {
  std::ifstream in(root_ / path, std::ios::binary);
  if (!in) throw std::runtime_error("no such file in the tree: " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void DriverTree::set_raw(const std::string& path, std::string_view content) {
  struct stat status {};
  const std::string full = root_ / path;
  if (::stat(full.c_str(), &status) != 0)
    throw std::runtime_error("no such file in the tree: " + path);
  file(path, content, status.st_mode & 07777U);
}

// ---- life

DriverTree::DriverTree(std::string root, TreeOptions options)
    : DriverTree(std::move(root), std::move(options), Existing{}) {
  for (const std::string_view old : {std::string_view("sys"), std::string_view("proc"), kOwn})
    fs::remove_all(root_ / old);
  fs::create_directories(root_ / kOwn);
  file("sys/devices/virtual/dmi/id/product_name", options_.instance + "\n", 0444);
  file("sys/devices/virtual/dmi/id/board_asset_tag", options_.instance_id + "\n", 0444);
  link("sys/class/dmi/id", "../../devices/virtual/dmi/id");
  file("proc/sys/kernel/random/boot_id", options_.boot_id + "\n", 0444);
  write_pci();
  write_efa();
  write_host();
  load_driver();
}

DriverTree::DriverTree(std::string root, TreeOptions options, Existing)
    : root_(std::move(root)), options_(std::move(options)) {
  if (options_.driver_version.empty())
    options_.driver_version = options_.layout == TreeLayout::A ? "2.30.2.0" : "2.31.7.0";
  minor_version(options_.driver_version);  // throws early
  replacements_.assign(static_cast<size_t>(devices()), 0);
}

DriverTree DriverTree::open(const std::string& root) {
  std::ifstream in(root / (kOwn / "options"));
  if (!in) throw std::runtime_error("no simulated tree in " + root + "; create one first");
  TreeOptions options;
  std::string layout;
  int major = 0;
  in >> options.instance >> options.driver_version >> layout >> options.boot_id >>
      options.instance_id >> major;
  options.layout = layout_from(layout);
  DriverTree tree(root, std::move(options), Existing{});
  tree.major_ = major;
  for (int& count : tree.replacements_) in >> count;
  for (int device = 0; in >> device;) tree.unprobed_.insert(device);
  return tree;
}

void DriverTree::remember() const {
  std::ostringstream out;
  out << options_.instance << ' ' << options_.driver_version << ' ' << to_string(options_.layout)
      << ' ' << options_.boot_id << ' ' << options_.instance_id << ' ' << major_;
  for (const int count : replacements_) out << ' ' << count;
  for (const int device : unprobed_) out << ' ' << device;
  file(kOwn / "options", out.str() + "\n");
}

int DriverTree::devices() const { return profile_of(options_.instance).devices; }
int DriverTree::cores() const { return profile_of(options_.instance).cores; }

std::string DriverTree::serial(int device) const {
  return hex16(fnv1a(options_.instance_id + "/" + std::to_string(device) + "/" +
                     std::to_string(replacements_.at(static_cast<size_t>(device)))));
}

std::string DriverTree::path(int device, std::string_view leaf) const {
  return (kDevices / neuron(device)) / relocate(options_.layout, leaf);
}

std::string DriverTree::counter_path(int device, int core, std::string_view counter) const {
  std::string family = "stats/memory_usage/";
  for (const Name& name : status_names())
    if (name.name == counter) family = "stats/status/";
  for (const Name& name : other_names())
    if (name.name == counter) family = "stats/other_info/";
  return path(device, core_name(core) / (family + std::string(counter)));
}

void DriverTree::write_pci() {
  const Profile& profile = profile_of(options_.instance);
  const auto function = [&](const std::string& address, std::string_view vendor,
                            std::string_view device) {
    const std::string directory = kPciRoot / address;
    file(directory / "vendor", std::string(vendor) + "\n", 0444);
    file(directory / "device", std::string(device) + "\n", 0444);
    file(directory / "numa_node", "0\n");
    file(directory / "current_link_speed", "32.0 GT/s PCIe\n", 0444);
    file(directory / "current_link_width", "16\n", 0444);
    link("sys/bus/pci/devices" / address, "../../../devices/pci0000:00" / address);
  };
  function("0000:00:04.0", "0x1d0f", "0x8061");  // an EBS volume, also by Amazon
  function("0000:00:05.0", "0x1d0f", "0xefa2");  // a network card
  for (int device = 0; device < profile.devices; ++device)
    function(pci_address(device), "0x1d0f", profile.pci_device);
}

void DriverTree::write_efa() {
  const int adapters = efa_adapters(profile_of(options_.instance));
  for (int adapter = 0; adapter < adapters; ++adapter) {
    const std::string pci = kPciRoot / efa_pci_address(adapter);
    file(pci / "vendor", "0x1d0f\n", 0444);
    file(pci / "device", "0xefa2\n", 0444);
    link("sys/bus/pci/devices" / efa_pci_address(adapter),
         "../../../devices/pci0000:00" / efa_pci_address(adapter));
    const std::string directory = pci / ("infiniband/" + efa_name(adapter));
    link(directory / "device", "../../../" + efa_pci_address(adapter));
    file(directory / "ports/1/state", "4: ACTIVE\n", 0444);
    file(directory / "ports/1/rate", "100 Gb/sec (4X EDR)\n", 0444);
    for (const std::string_view name : efa_counter_names())
      file(directory / "ports/1/hw_counters" / name, name == "lifespan" ? "10\n" : "0\n", 0444);
    link("sys/class/infiniband" / efa_name(adapter),
         "../../devices/pci0000:00" / efa_pci_address(adapter) / "infiniband" / efa_name(adapter));
  }
}

void DriverTree::set_efa(int adapter, std::string_view counter, std::uint64_t value) {
  set_raw(kPciRoot / efa_pci_address(adapter) / "infiniband" / efa_name(adapter) /
              "ports/1/hw_counters" / counter,
          std::to_string(value) + "\n");
}

void DriverTree::write_host() {
  file("proc/stat",
       "cpu  4000 40 400 40000 80 0 16 0 0 0\n"
       "cpu0 2000 20 200 20000 40 0 8 0 0 0\n"
       "cpu1 2000 20 200 20000 40 0 8 0 0 0\n"
       "intr 1000 0 0\nctxt 123456\nbtime 1796000000\nprocesses 4321\nprocs_running 2\n",
       0444);
  file("proc/meminfo",
       "MemTotal:       2113634304 kB\nMemFree:        2000000000 kB\n"
       "MemAvailable:   2050000000 kB\nBuffers:            100000 kB\nCached:            5000000 "
       "kB\n"
       "SwapTotal:               0 kB\nSwapFree:                0 kB\nHugePages_Total:       0\n",
       0444);
}

void DriverTree::write_class_files() {
  const Profile& profile = profile_of(options_.instance);
  if (minor_version(options_.driver_version) < 23) {
    fs::create_directories(root_ / kClass);
    return;
  }
  const bool ultraserver = options_.instance.starts_with("trn2u.");
  const auto leaf = [&](std::string_view name, std::string_view value) {
    file(kClass / name, std::string(value) + "\n", 0444);
  };
  leaf("ultraserver_mode", ultraserver ? "1,3,4" : "");
  if (profile.pds) {
    leaf("node_id", "-1");
    leaf("reservation_id", "0000000000000000");
    return;
  }
  leaf("node_id_4", ultraserver ? "2" : "-1");
  leaf("node_id_2", ultraserver ? "0" : "-1");
  leaf("server_id_4", ultraserver ? "6b3f1a00c2d47e11" : "0000000000000000");
  leaf("server_id_2", ultraserver ? "6b3f1a00c2d47e10" : "0000000000000000");
}

void DriverTree::write_device(int device) {
  const Profile& profile = profile_of(options_.instance);
  const int minor = minor_version(options_.driver_version);
  const std::string target = kDevices / neuron(device);
  // Built aside and renamed: the device appears whole.
  const std::string building = kOwn / "device";
  fs::remove_all(root_ / building);
  const auto leaf = [&](std::string_view name, std::string_view content, unsigned mode = 0644) {
    fresh(building / relocate(options_.layout, name), content, mode);
  };
  const auto counter = [&](const std::string& directory, std::uint64_t value, bool memory) {
    leaf(directory / "total", std::to_string(value) + "\n");
    leaf(directory / "present", std::to_string(value) + "\n");
    if (memory) leaf(directory / "peak", std::to_string(value) + "\n");
  };

  const std::string number = std::to_string(device);
  leaf("dev", std::to_string(major_) + ":" + number + "\n", 0444);
  leaf("uevent", "MAJOR=" + std::to_string(major_) + "\nMINOR=" + number + "\nDEVNAME=neuron" +
                     number + "\n");
  leaf("power/control", "auto\n");
  leaf("power/runtime_status", "unsupported\n", 0444);
  link(building / "subsystem", "../../../../class/neuron_device");

  const unsigned identity_mode = minor >= 28 ? 0444 : 0400;
  const int probed = profile.devices - static_cast<int>(unprobed_.size());
  leaf("reset", "1\n", 0600);
  leaf("core_count", std::to_string(profile.cores), identity_mode);
  if (minor >= 13)
    leaf("connected_devices", connected_devices(profile, device, probed) + "\n", identity_mode);
  if (minor >= 9) leaf("info/notify_delay", "-1\n");
  if (minor >= 15) leaf("info/serial_number", serial(device) + "\n");
  leaf("info/architecture/arch_type", std::string(profile.device_arch) + "\n");
  leaf("info/architecture/instance_type", std::string(profile.family) + "\n");
  leaf("info/architecture/device_name", std::string(profile.device_name) + "\n");

  for (const Name& name : host_memory_names())
    if (minor >= name.since)
      counter("stats/memory_usage/host_mem" / name.name,
              name.name == "driver_memory" ? 4'718'592 : 0, true);
  if (minor >= 14) {
    leaf("stats/hardware/sram_ecc_uncorrected", "0\n");
    leaf("stats/hardware/mem_ecc_uncorrected", "0\n");
  }
  if (minor >= 23) leaf("stats/hardware/mem_ecc_repairable_uncorrected", "0\n");
  if (minor >= 30) {
    leaf("stats/hardware/sram_ecc_corrected", "0\n");
    leaf("stats/hardware/mem_ecc_corrected", "0\n");
  }
  if (profile.health_directory && minor >= 28)
    leaf(std::string(kHealth) + "hw_error_event", "0\n", 0444);
  if (profile.health_directory && minor >= 30) {
    leaf(std::string(kHealth) + "unhealthy_components", "\n", 0444);
    leaf(std::string(kHealth) + "healthcheck_heartbeat", "0\n", 0444);
  }
  if (minor >= 21) {
    const std::int64_t at =
        options_.power_timestamp != 0 ? options_.power_timestamp : std::time(nullptr);
    leaf("stats/power/utilization",
         "POWER_STATUS_VALID," + std::to_string(at) + ",0.00,0.00,0.00\n");
  }
  if (minor >= 29)
    leaf("stats/power/utilization_raw",
         profile.dies == 2 ? "0,unavailable\n1,unavailable\n" : "0,unavailable\n");
  if (options_.layout == TreeLayout::SyntheticB3) {
    leaf("stats/retirement/pages/total", "0\n");
    leaf("stats/retirement/pages/present", "0\n");
    leaf("stats/hardware/fan_speed", "12\n");
    leaf("firmware/log_level", "info\n");
  }

  for (int core = 0; core < profile.cores; ++core) {
    const std::string at = core_name(core);
    leaf(at / "info/architecture/arch_type", std::string(profile.core_arch) + "\n");
    for (const Name& name : status_names())
      if (minor >= name.since) counter(at / ("stats/status" / name.name), 0, false);
    for (const Name& name : other_names())
      if (minor >= name.since)
        counter(at / ("stats/other_info" / name.name), name.name == "reset_req_count" ? 1 : 0,
                false);
    counter(at / "stats/memory_usage/host_mem", 0, true);
    counter(at / "stats/memory_usage/device_mem", 0, true);
    for (const Name& name : device_memory_names())
      if (minor >= name.since) counter(at / ("stats/memory_usage/device_mem" / name.name), 0, true);
    if (minor >= 23)
      leaf(at / "stats/tensor_engine/pe_cntrs",
           "xrow_grp,mm_active,wl_active,idle\n0,0,0,184467440\n1,0,0,184467440\n"
           "2,0,0,184467440\n3,0,0,184467440\n");
  }
  fs::create_directories(root_ / kDevices);
  fs::rename(root_ / building, root_ / target);
  link(kClass / neuron(device), "../../devices/virtual/neuron_device" / neuron(device));
  const std::string address = pci_address(device);
  link(kPciDriver / address, "../../../../devices/pci0000:00" / address);
  link((kPciRoot / address) / "driver", "../../../bus/pci/drivers/neuron-driver");
}

// ---- values

void DriverTree::set_device(int device, std::string_view leaf, std::string_view value) {
  set_raw(path(device, leaf), std::string(value) + "\n");
}

void DriverTree::set_core(int device, int core, std::string_view counter, std::uint64_t value) {
  const std::string directory = counter_path(device, core, counter);
  const std::string text = std::to_string(value) + "\n";
  set_raw(directory / "total", text);
  set_raw(directory / "present", text);
  if (fs::exists(root_ / (directory / "peak"))) set_raw(directory / "peak", text);
}

void DriverTree::add_core(int device, int core, std::string_view counter, std::uint64_t count) {
  const std::string total = get(counter_path(device, core, counter) / "total");
  set_core(device, core, counter, parse_u64(trim(total)).value_or(0) + count);
}

void DriverTree::add_ecc(int device, std::string_view leaf, std::uint64_t count) {
  const std::string name = "stats/hardware" / leaf;
  const std::string now = get(path(device, name));
  set_device(device, name, std::to_string(parse_u64(trim(now)).value_or(0) + count));
}

void DriverTree::set_power(int device, std::int64_t timestamp, double minimum, double maximum,
                           double average) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "POWER_STATUS_VALID,%lld,%.2f,%.2f,%.2f",
                static_cast<long long>(timestamp), minimum, maximum, average);
  set_device(device, "stats/power/utilization", text.data());
}

void DriverTree::tick() {
  for (int device = 0; device < devices(); ++device) {
    const std::string heartbeat = path(device, std::string(kHealth) + "healthcheck_heartbeat");
    if (!fs::exists(root_ / heartbeat)) continue;
    const auto now = parse_u64(trim(get(heartbeat)));
    if (now) set_raw(heartbeat, std::to_string((*now + 1) % 256) + "\n");
  }
}

// ---- faults

void DriverTree::bump_event(int device) {
  const std::string event = path(device, std::string(kHealth) + "hw_error_event");
  if (!fs::exists(root_ / event)) return;
  const std::string now = get(event);
  set_raw(event, std::to_string(parse_u64(trim(now)).value_or(0) + 1) + "\n");
}

void DriverTree::component(int device, std::string_view name) {
  const std::string components = path(device, std::string(kHealth) + "unhealthy_components");
  if (fs::exists(root_ / components)) {
    const std::string now = "," + std::string(trim(get(components))) + ",";
    std::vector<std::string> all;  // in the driver's order
    for (const std::string_view known : kComponents)
      if (known == name || now.find("," + std::string(known) + ",") != std::string::npos)
        all.emplace_back(known);
    set_raw(components, join(all, ",") + "\n");
  }
  bump_event(device);
}

void DriverTree::clear_components(int device) {
  set_device(device, std::string(kHealth) + "unhealthy_components", "");
  bump_event(device);
}

void DriverTree::hbm_uncorrectable(int device, int core) {
  add_ecc(device, "mem_ecc_uncorrected");
  component(device, "hbm");
  add_core(device, core, "hw_hbm_ue_error");
  add_core(device, core, "hw_error");
}

void DriverTree::hbm_repairable(int device, int core) {
  add_ecc(device, "mem_ecc_repairable_uncorrected");
  bump_event(device);
  add_core(device, core, "hw_repairable_hbm_ue_error");
}

void DriverTree::sram_uncorrectable(int device, int core) {
  add_ecc(device, "sram_ecc_uncorrected");
  component(device, "sram");
  add_core(device, core, "hw_nc_ue_error");
}

void DriverTree::dma_abort(int device, int core) { add_core(device, core, "hw_dma_abort_error"); }

void DriverTree::save(int device, const std::vector<std::string>& leaves) {
  const std::string saved = root_ / (kOwn / ("saved/" + neuron(device)));
  fs::create_directories(saved);
  for (const std::string& leaf : leaves) {
    const std::string from = root_ / path(device, leaf);
    const std::string to = saved / fs::path(leaf).filename().string();
    if (fs::exists(from) && !fs::exists(to)) fs::copy_file(from, to);
  }
}

void DriverTree::bring_back(int device) {
  const std::string saved = kOwn / ("saved/" + neuron(device));
  for (std::string leaf : kEccLeaves)
    if (const std::string from = saved / fs::path(leaf).filename().string();
        fs::exists(root_ / from))
      set_raw(path(device, leaf), get(from));
  fs::remove_all(root_ / saved);
  set_device(device, "info/serial_number", serial(device));
}

void DriverTree::unreachable(int device) {
  set_device(device, std::string(kHealth) + "unhealthy_components", "device_unreachable");
  set_device(device, std::string(kHealth) + "healthcheck_heartbeat", "device_unreachable");
  bump_event(device);
}

void DriverTree::reachable(int device) {
  set_device(device, std::string(kHealth) + "unhealthy_components", "");
  set_device(device, std::string(kHealth) + "healthcheck_heartbeat", "1");
  bump_event(device);
}

void DriverTree::fell_off_bus(int device) {
  const bool sums_two_stacks =
      cores() == 2;  // Trn1 and Inf2; on Trn2 the repair state 3 matches nothing
  for (const std::string& leaf : kEccLeaves) {
    if (!fs::exists(root_ / path(device, leaf))) continue;
    std::string_view value = "65535";
    if (leaf.ends_with("repairable_uncorrected")) value = "0";
    if (leaf.ends_with("/mem_ecc_uncorrected")) value = sums_two_stacks ? "131070" : "0";
    set_device(device, leaf, value);
  }
  set_device(device, "info/serial_number", "ffffffffffffffff");
  if (fs::exists(root_ / path(device, std::string(kHealth) + "healthcheck_heartbeat")))
    set_device(device, std::string(kHealth) + "healthcheck_heartbeat", "255");
}

void DriverTree::reset_in_progress(int device) {
  save(device, kEccLeaves);
  set_device(device, "reset", "0");
  for (const std::string& leaf : kEccLeaves)
    if (fs::exists(root_ / path(device, leaf))) set_device(device, leaf, "0");
  set_device(device, "info/serial_number", "");
  for (int core = 0; core < cores(); ++core) add_core(device, core, "reset_req_count");
}

void DriverTree::reset_done(int device) {
  bring_back(device);
  set_device(device, "reset", "1");
}

void DriverTree::reset_failed(int device) {
  bring_back(device);
  set_device(device, "reset", "2");
  for (int core = 0; core < cores(); ++core) add_core(device, core, "reset_fail_count");
}

// ---- presence

void DriverTree::remove_device(int device) {
  const std::string aside = root_ / (kOwn / ("removed/" + neuron(device)));
  fs::remove_all(aside);
  fs::create_directories(fs::path(aside).parent_path());
  fs::rename(root_ / path(device, ""), aside);
  const std::string address = pci_address(device);
  for (const std::string& gone : {kClass / neuron(device), kPciDriver / address,
                                  "sys/bus/pci/devices" / address, kPciRoot / address})
    fs::remove_all(root_ / gone);
}

void DriverTree::restore_device(int device) {
  const std::string aside = root_ / (kOwn / ("removed/" + neuron(device)));
  if (!fs::exists(aside)) throw std::runtime_error(neuron(device) + " was not removed");
  const std::string building = root_ / (kOwn / "device");
  fs::remove_all(building);
  // A copy: the directory is another one, as after a new probe.
  fs::copy(aside, building, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  fs::rename(building, root_ / path(device, ""));
  fs::remove_all(aside);
  write_pci();
  const std::string address = pci_address(device);
  link(kClass / neuron(device), "../../devices/virtual/neuron_device" / neuron(device));
  link(kPciDriver / address, "../../../../devices/pci0000:00" / address);
  link((kPciRoot / address) / "driver", "../../../bus/pci/drivers/neuron-driver");
}

void DriverTree::replace_device(int device) {
  const std::string aside = root_ / (kOwn / ("removed/" + neuron(device)));
  fs::create_directories(fs::path(aside).parent_path());
  fs::remove_all(aside);
  if (fs::exists(root_ / path(device, ""))) fs::rename(root_ / path(device, ""), aside);
  ++replacements_.at(static_cast<size_t>(device));
  write_pci();
  write_device(
      device);  // before the old one is gone for good: two directories never share an inode number
  fs::remove_all(aside);
  remember();
}

void DriverTree::fail_probe(int device) {
  unload_driver();
  unprobed_.insert(device);
  load_driver();
}

void DriverTree::reload_driver() {
  unload_driver();
  load_driver();
}

void DriverTree::unload_driver() {
  const std::string aside = root_ / (kOwn / "unloaded");
  fs::remove_all(aside);
  fs::create_directories(aside);
  set_initstate("going");
  fs::rename(root_ / kDevices, aside / "devices");
  fs::rename(root_ / kClass, aside / "class");
  fs::remove_all(root_ / kPciDriver);
  fs::rename(root_ / kModule, aside / "module");
  for (int device = 0; device < devices(); ++device)
    fs::remove((root_ / (kPciRoot / pci_address(device))) / "driver");
  file("proc/modules", "nvme 61440 2 - Live 0x0000000000000000\n", 0444);
  unprobed_.clear();
}

void DriverTree::load_driver() {
  const std::string own = kOwn / "module";
  fs::remove_all(root_ / own);
  major_ = major_ == 240 && !fs::exists(root_ / (kOwn / "options")) ? 240 : major_ + 1;
  file(own / "version", options_.driver_version + "\n", 0444);
  file(own / "refcnt", "0\n", 0444);
  file(own / "initstate", "live\n", 0444);
  for (const auto& [name, value] :
       {std::pair{"nmetric_metric_post_delay", "150000\n"}, std::pair{"nmetric_log_posts", "1\n"},
        std::pair{"no_reset", "0\n"}})
    file(own / ("parameters/" + std::string(name)), value, 0660);
  fs::create_directories(root_ / "sys/module");
  fs::create_directories(root_ / kPciDriver);
  fs::create_directories(root_ / kDevices);
  write_class_files();
  for (int device = 0; device < devices(); ++device)
    if (!unprobed_.contains(device)) write_device(device);
  fs::rename(root_ / own, root_ / kModule);
  file("proc/modules",
       "neuron 237568 0 - Live 0x0000000000000000 (OE)\nnvme 61440 2 - Live 0x0000000000000000\n",
       0444);
  fs::remove_all(root_ /
                 (kOwn / "unloaded"));  // last: no new directory has an old one's inode number
  remember();
}

void DriverTree::set_initstate(std::string_view state) {
  set_raw(kModule / "initstate", std::string(state) + "\n");
}

void DriverTree::reboot(std::string boot_id) {
  unload_driver();
  options_.boot_id = std::move(boot_id);
  file("proc/sys/kernel/random/boot_id", options_.boot_id + "\n", 0444);
  load_driver();
}

}  // namespace nobs::sim
