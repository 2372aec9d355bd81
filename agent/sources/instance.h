// What each EC2 instance type must have, and each device family has. Source: driver reference, section 2.
//
// Pure tables. There is no file with the number of devices or the size of the device memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace nobs::sources {

struct InstanceType {
  std::string_view name;
  int devices;
  int cores_per_device;  // physical
  std::uint64_t device_memory_bytes;
};

// By the DMI product name; null: not in the table.
const InstanceType* find_instance(std::string_view type);

struct Family {
  std::string_view name;         // file instance_type: "Trn2"
  std::string_view device_name;  // "Trainium2"
  int cores_per_device;
  std::uint64_t memory_bytes;
  bool has_health_directory;  // from driver 2.28 on
};

// By the file instance_type; null: unknown.
const Family* find_family(std::string_view name);

// PCI ids as in the files vendor and device: "0x1d0f", "0x7364".
bool is_neuron_function(std::string_view vendor, std::string_view device);

}  // namespace nobs::sources
