#include "agent/sources/system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

constexpr int kMaxCpus = 4'096;
constexpr size_t kMaxFile = 1U << 20;  // /proc/stat of 192 CPUs has 30 KB, most of it interrupts

std::vector<std::string_view> words(std::string_view line) {
  auto pieces = split(line, ' ');
  std::erase_if(pieces, [](std::string_view piece) { return piece.empty(); });
  return pieces;
}

std::optional<CpuTimes> parse_times(const std::vector<std::string_view>& pieces) {
  std::array<std::uint64_t, 8> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    if (i + 1 >= pieces.size()) return std::nullopt;
    const auto value = parse_u64(pieces[i + 1]);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return CpuTimes{values[0], values[1], values[2], values[3],
                  values[4], values[5], values[6], values[7]};
}

std::optional<std::string> whole_file(const Root& root, const std::string& path) {
  const UniqueFd fd = root.open(path, O_RDONLY);
  if (!fd) return std::nullopt;
  std::string text;
  std::array<char, 16'384> buffer{};
  while (text.size() <= kMaxFile) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

std::optional<CpuShare> share_between(const CpuTimes& before, const CpuTimes& now) {
  const auto rise = [](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) : 0.0;
  };
  if (now.idle < before.idle && now.user < before.user) return std::nullopt;  // another boot
  CpuShare share{rise(before.user, now.user),       rise(before.nice, now.nice),
                 rise(before.system, now.system),   rise(before.idle, now.idle),
                 rise(before.iowait, now.iowait),   rise(before.irq, now.irq),
                 rise(before.softirq, now.softirq), 0};
  const double total = share.user + share.nice + share.system + share.idle + share.iowait +
                       share.irq + share.softirq + rise(before.steal, now.steal);
  if (total <= 0) return std::nullopt;
  for (double* part : {&share.user, &share.nice, &share.system, &share.idle, &share.iowait,
                       &share.irq, &share.softirq})
    *part *= 100 / total;
  share.busy = std::max(0.0, 100 - share.idle - share.iowait);
  return share;
}

void parse_stat(std::string_view text, SystemReading& reading) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("ctxt ")) {
      reading.context_switches = parse_u64(trim(line.substr(5)));
    } else if (line.starts_with("cpu")) {
      const auto pieces = words(line);
      const auto times = parse_times(pieces);
      if (!times) continue;
      if (pieces[0] == "cpu") {
        reading.all = times;
      } else if (const auto index = parse_u64(pieces[0].substr(3)); index && *index < kMaxCpus) {
        reading.cpus.insert_or_assign(static_cast<int>(*index), *times);
      }
    }
  }
}

void parse_meminfo(std::string_view text, SystemReading& reading) {
  std::map<std::string_view, std::uint64_t> kilobytes;
  for (const std::string_view line : split(text, '\n')) {
    const auto pieces = words(line);
    if (pieces.size() < 2 || !pieces[0].ends_with(':')) continue;
    const auto value = parse_u64(pieces[1]);
    if (value && *value < (std::uint64_t{1} << 50))
      kilobytes.emplace(pieces[0].substr(0, pieces[0].size() - 1), *value);
  }
  const auto bytes = [&](std::string_view name) -> std::optional<std::uint64_t> {
    const auto found = kilobytes.find(name);
    if (found == kilobytes.end()) return std::nullopt;
    return found->second * 1024;
  };
  const auto used = [](std::optional<std::uint64_t> total, std::optional<std::uint64_t> free) {
    return total && free && *free <= *total ? std::optional(*total - *free) : std::nullopt;
  };
  reading.memory_total = bytes("MemTotal");
  reading.memory_used = used(reading.memory_total, bytes("MemAvailable"));
  reading.swap_total = bytes("SwapTotal");
  reading.swap_used = used(reading.swap_total, bytes("SwapFree"));
}

SystemReading read_system(const Root& proc) {
  SystemReading reading;
  if (const auto text = whole_file(proc, "stat")) parse_stat(*text, reading);
  if (const auto text = whole_file(proc, "meminfo")) parse_meminfo(*text, reading);
  return reading;
}

}  // namespace nobs::sources
