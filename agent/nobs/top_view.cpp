#include "agent/nobs/top_view.h"

#include <algorithm>
#include <cstdio>

namespace nobs::cli {
namespace {

using json::Value;

constexpr const char* kLegend = "cores: . free  + memory in use  * at work  ! hardware errors";

std::string text_of(const Value& value) {
  const auto* text = value.if_string();
  return text == nullptr || text->empty() ? "-" : clean(*text);
}

const Value& item_of(const Value& list, const Value& index) {
  static const Value none;
  for (const auto& item : list.items())
    if (item["index"] == index) return item;
  return none;
}

char core_mark(const Value& core, const Value& earlier) {
  bool at_work = false;
  for (const auto& [name, count] : core["counters"].members()) {
    const double value = count.if_double().value_or(0);
    if (name.starts_with("hw_") && value > 0) return '!';
    const bool tells_work = name == "nc_time_in_use" || name == "flop_count" ||
                            name == "inference_count" || name == "success";
    if (tells_work && earlier["counters"][name].is_number() &&
        value > earlier["counters"][name].if_double().value_or(0))
      at_work = true;
  }
  if (at_work) return '*';
  return core["memoryBytes"].if_double().value_or(0) > 0 ? '+' : '.';
}

Row device_row(const Value& device, const Value& earlier) {
  std::string marks;
  double memory = 0;
  bool knows_memory = false;
  for (const auto& core : device["cores"].items()) {
    marks += core_mark(core, item_of(earlier["cores"], core["index"]));
    if (const auto bytes = core["memoryBytes"].if_double()) {
      memory += *bytes;
      knows_memory = true;
    }
  }
  std::string power = "-";
  if (const auto percent = device["power"]["averagePercent"].if_double()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f%%", *percent);
    power = text;
  }
  const std::string health = device["health"].string_or("");
  return {device["index"].is_number() ? "neuron" + json::dump(device["index"]) : "-",
          {text_of(device["health"]), style_of_health(health)},
          health == "healthy" ? "-" : text_of(device["reason"]),
          power,
          knows_memory ? bytes_text(memory) : "-",
          marks.empty() ? "-" : marks};
}

int urgency(const Value& device) {
  const std::string health = device["health"].string_or("");
  return health == "unhealthy" ? 0 : health == "healthy" ? 2 : 1;
}

}  // namespace

std::string top_frame(const Value& snapshot, const Value& earlier, const View& view, size_t height,
                      const std::string& trouble) {
  const size_t width = view.page.width;
  const std::string health = snapshot["health"].string_or("");
  const std::string at = text_of(snapshot["at"]);
  std::string head = text_of(snapshot["node"]) + "  " + text_of(snapshot["instanceType"]) +
                     "  driver " + text_of(snapshot["driver"]["version"]) + "  " +
                     (at.size() > 19 ? at.substr(11, 8) : at);
  std::string text =
      styled(fit(head, width), Style::Bold, view.page.colours) + "\n" +
      styled(fit(text_of(snapshot["health"]) + ": " + text_of(snapshot["message"]), width),
             style_of_health(health), view.page.colours) +
      "\n\n";
  std::vector<Value> devices = snapshot["devices"].items();
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Value& a, const Value& b) { return urgency(a) < urgency(b); });
  // Three lines above, the heading, one for what does not fit, the last one.
  const size_t room = height == 0 ? devices.size() : height - std::min<size_t>(height, 6);
  const size_t shown = std::min(room, devices.size());
  std::vector<Row> rows = {{"DEVICE", "HEALTH", "REASON", "POWER", "MEMORY", "CORES"}};
  for (size_t i = 0; i < shown; ++i)
    rows.push_back(device_row(devices[i], item_of(earlier["devices"], devices[i]["index"])));
  text += table(rows, view.page);
  if (shown < devices.size())
    text += fit("and " + std::to_string(devices.size() - shown) + " more devices", width) + "\n";
  return text +
         (trouble.empty() ? styled(fit(kLegend, width), Style::Dim, view.page.colours)
                          : styled(fit(clean(trouble), width), Style::Bad, view.page.colours)) +
         "\n";
}

}  // namespace nobs::cli
