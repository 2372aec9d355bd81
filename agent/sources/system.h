// The host's CPUs and memory, from /proc.
//
// For the system source's thread. Pure but for read_system. Values that are not there are absent.
//
//   SystemReading now = read_system(Root("/host-proc"));
//   std::optional<CpuShare> share = share_between(before.cpus.at(3), now.cpus.at(3));
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "agent/sources/files.h"

namespace nobs::sources {

// In USER_HZ ticks since boot; guest time is part of user (proc(5)).
struct CpuTimes {
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
                steal = 0;
};

// In percent of the time between two readings.
struct CpuShare {
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  double busy = 0;  // all but idle and iowait
};

struct SystemReading {
  std::optional<CpuTimes> all;
  std::map<int, CpuTimes> cpus;  // online ones
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> memory_total, memory_used, swap_total, swap_used;  // bytes
};

// Nothing when no time has passed, or the counters went back (iowait may, by itself: it counts as 0 then).
std::optional<CpuShare> share_between(const CpuTimes& before, const CpuTimes& now);

// Untrusted text; what does not fit the grammar is left out.
void parse_stat(std::string_view text, SystemReading& reading);
void parse_meminfo(std::string_view text, SystemReading& reading);

SystemReading read_system(const Root& proc);

}  // namespace nobs::sources
