// Writes below a directory what the Neuron driver shows in /sys and /proc: counts, names, formats, missing newlines,
// modes and links of the driver's versions, and the ways in which they break.
//
// For tests, the demo and people without the hardware. Not thread-safe; readers may look at any time, every value
// changes by rename. A plain directory cannot notify poll() nor answer ENODEV: see fuse_tree.h. Mistakes throw.
//
//   DriverTree tree(root, {.instance = "trn2.48xlarge"});   // root/sys, root/proc
//   tree.hbm_uncorrectable(3);
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nobs::sim {

// The synthetic ones are ours, not AWS's: they prove that a reader of drivers from 2.31 on does not depend on paths.
enum class TreeLayout {
  A,
  SyntheticB1,  // stats/hardware/* -> hardware/*, stats/power/* -> hardware/power/*
  SyntheticB2,  // cores below cores/, their stats/status -> status
  SyntheticB3,  // as A, with unknown files and directories beside
};

struct TreeOptions {
  std::string instance = "trn2.48xlarge";
  std::string driver_version;  // empty: 2.30.2.0, or 2.31.7.0 with a synthetic layout
  TreeLayout layout = TreeLayout::A;
  std::string boot_id = "6fb1b3c4-7f5e-4a7e-9a55-0d0d6c1f2a31";
  std::string instance_id = "i-0f3a9c1e5b7d2468a";
  std::int64_t power_timestamp = 0;  // Unix seconds; 0: now
};

class DriverTree {
 public:
  // Empties what an earlier tree left below `root`, writes a new one with the driver loaded.
  DriverTree(std::string root, TreeOptions options);
  // Goes on with the tree that is below `root`.
  static DriverTree open(const std::string& root);

  const std::string& root() const { return root_; }
  const TreeOptions& options() const { return options_; }
  int devices() const;  // of the instance, present or not
  int cores() const;    // of one device
  std::string serial(int device) const;
  // Where layout A's path of a device ("stats/hardware/mem_ecc_uncorrected") is in this layout, below root.
  std::string path(int device, std::string_view leaf) const;
  // The directory of a counter: a name of stats/status or stats/other_info, "host_mem", "device_mem" or
  // "device_mem/constants".
  std::string counter_path(int device, int core, std::string_view counter) const;

  // ---- values. set_device adds the newline; set_raw writes exactly these bytes (path below root).
  void set_device(int device, std::string_view leaf, std::string_view value);
  void set_core(int device, int core, std::string_view counter, std::uint64_t value);
  void set_raw(const std::string& path, std::string_view content);
  std::string get(const std::string& path) const;
  // leaf: sram_ecc_uncorrected, mem_ecc_repairable_uncorrected, …
  void add_ecc(int device, std::string_view leaf, std::uint64_t count = 1);
  void add_core(int device, int core, std::string_view counter, std::uint64_t count = 1);
  void set_efa(int adapter, std::string_view counter, std::uint64_t value);
  void set_power(int device, std::int64_t timestamp, double minimum, double maximum,
                 double average);
  // What moves by itself while a driver runs: the heartbeats.
  void tick();

  // ---- faults
  void hbm_uncorrectable(int device, int core = 0);
  void hbm_repairable(int device, int core = 0);
  void sram_uncorrectable(int device, int core = 0);
  void dma_abort(int device, int core = 0);
  void component(int device, std::string_view name);  // link_efa, axi_fabric, …
  void clear_components(int device);
  void unreachable(int device);
  void reachable(int device);
  void fell_off_bus(int device);
  void reset_in_progress(int device);
  void reset_done(int device);
  void reset_failed(int device);

  // ---- presence
  void remove_device(int device);   // its PCI function too
  void restore_device(int device);  // as it was
  void replace_device(int device);  // another serial, all counters 0
  void fail_probe(int device);      // reload without it: its PCI function stays, unbound
  void reload_driver();             // all counters 0, new directories, another major number
  void unload_driver();
  void load_driver();
  void set_initstate(std::string_view state);  // live, coming, going
  void reboot(std::string boot_id);

 private:
  struct Existing {};
  DriverTree(std::string root, TreeOptions options, Existing);

  void write_device(int device);
  void write_pci();
  void write_efa();
  void write_host();
  void write_class_files();
  void remember() const;
  void save(int device, const std::vector<std::string>& leaves);
  void bring_back(int device);
  void bump_event(int device);
  void fresh(const std::string& path, std::string_view content, unsigned mode) const;
  void file(const std::string& path, std::string_view content, unsigned mode = 0644) const;
  void link(const std::string& path, const std::string& target) const;

  std::string root_;
  TreeOptions options_;
  int major_ = 240;
  std::set<int> unprobed_;         // devices whose probe failed at the last load
  std::vector<int> replacements_;  // per device, for its serial
};

TreeLayout layout_from(std::string_view name);  // "A", "synthetic-b1", …
std::string_view to_string(TreeLayout layout);

}  // namespace nobs::sim
