// What differs between instance types and driver versions; data for tree.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nobs::sim {

struct Profile {
  std::string_view instance;
  int devices;
  int cores;
  std::string_view device_arch, core_arch, family, device_name, pci_device;
  int dies;
  bool health_directory;  // from driver 2.28 on
  bool pds;               // class files node_id, reservation_id
};

// Throws for a type that is not in the table.
const Profile& profile_of(std::string_view instance);
const std::vector<Profile>& profiles();

struct Name {
  std::string_view name;
  int since;  // minor version of the driver
};
const std::vector<Name>& status_names();
const std::vector<Name>& other_names();
const std::vector<Name>& host_memory_names();
const std::vector<Name>& device_memory_names();

// "12, 3, 4, 1", or empty where the driver shows none.
std::string connected_devices(const Profile& profile, int device, int probed);
enum class TreeLayout;
// Layout A's path below a device directory -> the path in `layout`.
std::string relocate(TreeLayout layout, std::string_view leaf);

// "0000:cc:00.0"
std::string pci_address(int device);

// EFA adapters of the instance: 8, 16 or none (driver reference, section 2.2). Unknown for Trn3: as Trn2.
int efa_adapters(const Profile& profile);
std::string efa_name(int adapter);         // "rdmap16s27"
std::string efa_pci_address(int adapter);  // "0000:10:1b.0"
const std::vector<std::string_view>& efa_counter_names();

}  // namespace nobs::sim
