#include "tests/sim/tree/tree.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/sim/tree/profile.h"
#include "tests/support/directory.h"

namespace {

using namespace nobs::sim;
using nobs::test::Directory;
namespace fs = std::filesystem;

// Without dev, uevent, power/ and links, as the reference counts them.
std::pair<int, int> count(const DriverTree& tree, int device) {
  int files = 0, directories = 0;
  const fs::path root = tree.root() + "/" + tree.path(device, "");
  for (fs::recursive_directory_iterator at(root), end; at != end; ++at) {
    const std::string name = at->path().filename();
    if (at->is_symlink()) continue;
    if (at.depth() == 0 && (name == "dev" || name == "uevent")) continue;
    if (at.depth() == 0 && name == "power") {
      at.disable_recursion_pending();
      continue;
    }
    ++(at->is_directory() ? directories : files);
  }
  return {files, directories};
}

unsigned mode(const DriverTree& tree, const std::string& path) {
  struct stat status {};
  REQUIRE(::stat((tree.root() + "/" + path).c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

std::uint64_t inode(const DriverTree& tree, const std::string& path) {
  struct stat status {};
  REQUIRE(::stat((tree.root() + "/" + path).c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("a device has as many files and directories as the driver gives it") {
  struct Row {
    const char* instance;
    const char* driver;
    int files, directories;
  };
  for (const Row& row :
       {Row{"trn1.2xlarge", "2.25.4.0", 238, 117}, Row{"trn1.32xlarge", "2.30.2.0", 241, 117},
        Row{"inf2.xlarge", "2.30.2.0", 241, 117}, Row{"trn2.3xlarge", "2.25.4.0", 844, 423},
        Row{"trn2.3xlarge", "2.30.2.0", 850, 424}, Row{"trn3pd98.3xlarge", "2.30.2.0", 850, 424}}) {
    CAPTURE(row.instance);
    CAPTURE(row.driver);
    const Directory place;
    const DriverTree tree(place.path(), {.instance = row.instance, .driver_version = row.driver});
    CHECK(count(tree, tree.devices() - 1) == std::pair(row.files, row.directories));
  }
}

TEST_CASE("values have the driver's formats, newlines, modes and links") {
  const Directory place;
  const DriverTree tree(place.path(), {.instance = "trn1.32xlarge", .driver_version = "2.25.4.0"});
  CHECK(tree.get("sys/module/neuron/version") == "2.25.4.0\n");
  CHECK(tree.get("sys/module/neuron/initstate") == "live\n");
  CHECK(tree.get(tree.path(0, "core_count")) == "2");
  CHECK(tree.get(tree.path(0, "connected_devices")) == "12, 3, 4, 1\n");
  CHECK(tree.get(tree.path(0, "info/serial_number")) == tree.serial(0) + "\n");
  CHECK(tree.get(tree.path(0, "info/architecture/arch_type")) == "NDv2\n");
  CHECK(tree.get(tree.counter_path(0, 1, "reset_req_count") + "/total") == "1\n");
  CHECK(tree.get("sys/class/neuron_device/neuron3/dev") == "240:3\n");
  CHECK(tree.get("sys/class/neuron_device/ultraserver_mode") == "\n");
  CHECK(tree.get("sys/class/dmi/id/product_name") == "trn1.32xlarge\n");
  CHECK(tree.get("sys/bus/pci/drivers/neuron-driver/0000:cc:00.0/device") == "0x7164\n");
  CHECK(mode(tree, tree.path(0, "core_count")) == 0400);
  CHECK(mode(tree, tree.path(0, "reset")) == 0600);
  CHECK(mode(tree, tree.path(0, "info/serial_number")) == 0644);
  CHECK_FALSE(fs::exists(place.path() + "/" + tree.path(0, "stats/hardware/health_status")));
}

TEST_CASE("every instance type can be written, and tells its devices apart") {
  for (const Profile& profile : profiles()) {
    CAPTURE(profile.instance);
    const Directory place;
    const DriverTree tree(place.path(), {.instance = std::string(profile.instance)});
    const int last = profile.devices - 1;
    CHECK(tree.get(tree.path(last, "info/architecture/device_name")) ==
          std::string(profile.device_name) + "\n");
    if (last > 0) CHECK(tree.serial(0) != tree.serial(last));
    CHECK(fs::exists(place.path() + "/" + tree.path(last, "stats/hardware/health_status")) ==
          profile.health_directory);
  }
}

TEST_CASE("synthetic layouts move the files they name and nothing else") {
  const auto is_at = [](TreeLayout layout, const std::string& path) {
    const Directory place;
    const DriverTree tree(place.path(), {.instance = "trn2.3xlarge", .layout = layout});
    CHECK(tree.get("sys/module/neuron/version") == "2.31.7.0\n");
    return fs::exists(place.path() + "/sys/devices/virtual/neuron_device/neuron0/" + path);
  };
  CHECK(is_at(TreeLayout::SyntheticB1, "hardware/mem_ecc_uncorrected"));
  CHECK(is_at(TreeLayout::SyntheticB1, "hardware/power/utilization"));
  CHECK(is_at(TreeLayout::SyntheticB2, "cores/neuron_core7/status/hw_error/total"));
  CHECK(is_at(TreeLayout::SyntheticB2, "cores/neuron_core7/stats/other_info/flop_count/total"));
  CHECK(is_at(TreeLayout::SyntheticB3, "stats/hardware/mem_ecc_uncorrected"));
  CHECK(is_at(TreeLayout::SyntheticB3, "stats/retirement/pages/total"));
}

TEST_CASE("an uncorrectable HBM error shows everywhere the driver shows it") {
  const Directory place;
  DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  const std::string health = "stats/hardware/health_status/";
  tree.component(0, "link_efa");
  tree.hbm_uncorrectable(0, 5);
  CHECK(tree.get(tree.path(0, "stats/hardware/mem_ecc_uncorrected")) == "1\n");
  CHECK(tree.get(tree.path(0, health + "unhealthy_components")) == "hbm,link_efa\n");
  CHECK(tree.get(tree.path(0, health + "hw_error_event")) == "2\n");
  CHECK(tree.get(tree.counter_path(0, 5, "hw_hbm_ue_error") + "/total") == "1\n");
  CHECK(tree.get(tree.counter_path(0, 4, "hw_hbm_ue_error") + "/total") == "0\n");
}

TEST_CASE("a reset hides the error counters and brings them back") {
  const Directory place;
  DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  tree.add_ecc(0, "mem_ecc_corrected", 17);
  tree.reset_in_progress(0);
  CHECK(tree.get(tree.path(0, "reset")) == "0\n");
  CHECK(tree.get(tree.path(0, "info/serial_number")) == "\n");
  CHECK(tree.get(tree.path(0, "stats/hardware/mem_ecc_corrected")) == "0\n");
  tree.reset_done(0);
  CHECK(tree.get(tree.path(0, "info/serial_number")) == tree.serial(0) + "\n");
  CHECK(tree.get(tree.path(0, "stats/hardware/mem_ecc_corrected")) == "17\n");
}

TEST_CASE("devices come and go, and a replaced one is another part without a past") {
  const Directory place;
  DriverTree tree(place.path(), {.instance = "inf2.24xlarge"});
  tree.add_ecc(2, "mem_ecc_uncorrected");
  const std::string serial = tree.serial(2);
  const std::string ecc = tree.path(2, "stats/hardware/mem_ecc_uncorrected");

  tree.remove_device(2);
  CHECK_FALSE(fs::exists(place.path() + "/" + tree.path(2, "")));
  CHECK_FALSE(fs::exists(place.path() + "/sys/class/neuron_device/neuron2"));
  tree.restore_device(2);
  CHECK(tree.get(ecc) == "1\n");

  DriverTree later = DriverTree::open(place.path());  // as another process would
  later.replace_device(2);
  CHECK(later.serial(2) != serial);
  CHECK(later.get(later.path(2, "info/serial_number")) == later.serial(2) + "\n");
  CHECK(later.get(ecc) == "0\n");
  CHECK(DriverTree::open(place.path()).serial(2) == later.serial(2));
}

TEST_CASE("a reload is seen by new directories, numbers and counters; a failed probe by its gap") {
  const Directory place;
  DriverTree tree(place.path(), {.instance = "trn1.32xlarge"});
  tree.add_ecc(1, "mem_ecc_uncorrected");
  const auto module = inode(tree, "sys/module/neuron");
  const auto device = inode(tree, tree.path(1, ""));
  tree.reload_driver();
  CHECK(inode(tree, "sys/module/neuron") != module);
  CHECK(inode(tree, tree.path(1, "")) != device);
  CHECK(tree.get(tree.path(1, "dev")) == "241:1\n");
  CHECK(tree.get(tree.path(1, "stats/hardware/mem_ecc_uncorrected")) == "0\n");

  tree.fail_probe(7);
  CHECK_FALSE(fs::exists(place.path() + "/" + tree.path(7, "")));
  CHECK(tree.get(tree.path(1, "connected_devices")) == "\n");
  CHECK(fs::exists(place.path() + "/sys/bus/pci/devices/0000:6e:00.0"));
  CHECK_FALSE(fs::exists(place.path() + "/sys/bus/pci/drivers/neuron-driver/0000:6e:00.0"));

  tree.unload_driver();
  CHECK_FALSE(fs::exists(place.path() + "/sys/module/neuron"));
  CHECK_FALSE(fs::exists(place.path() + "/sys/class/neuron_device"));
}

TEST_CASE("mistakes of a test are told, not written") {
  const Directory place;
  CHECK_THROWS(DriverTree(place.path(), {.instance = "p5.48xlarge"}));
  CHECK_THROWS(DriverTree::open(place.path()));
  DriverTree tree(place.path(), {.instance = "trn1.2xlarge"});
  CHECK_THROWS(tree.set_device(0, "stats/hardware/mem_ecc_uncorected", "1"));
  CHECK_THROWS(layout_from("C"));
}
