#include "agent/nobs/views.h"

#include <algorithm>
#include <map>

namespace nobs::cli {
namespace {

using json::Value;

constexpr size_t kMessageAt = 11;  // column of a device's message in the status

// A string, clean; a number as it is; "-" for anything else.
std::string shown(const Value& value) {
  if (const auto* text = value.if_string()) return text->empty() ? "-" : clean(*text);
  if (value.is_number()) return json::dump(value);
  return "-";
}

std::string device_of(const Value& index) {
  return index.is_number() ? "neuron" + shown(index) : "-";
}

std::string action_of(const Value& action) {
  return action.string_or("") == "None" ? "-" : shown(action);
}

// The word for being healthy says nothing more than the health.
std::string reason_of(const Value& reason) {
  return reason.string_or("") == "Healthy" ? "-" : shown(reason);
}

std::string sum_of(const Value& counts, std::initializer_list<const char*> names) {
  std::int64_t sum = 0;
  bool is_known = false;
  for (const auto* name : names) {
    if (const auto count = counts[name].if_int()) {
      sum += *count;
      is_known = true;
    }
  }
  return is_known ? std::to_string(sum) : "-";
}

Cell health_cell(const Value& health) {
  return {shown(health), style_of_health(health.string_or(""))};
}

std::string joined(const Value& list) {
  std::string text;
  for (const auto& item : list.items()) text += (text.empty() ? "" : ",") + shown(item);
  return text.empty() ? "-" : text;
}

}  // namespace

Style style_of_health(const std::string& health) {
  if (health == "healthy") return Style::Good;
  return health == "unhealthy" ? Style::Bad : Style::Doubtful;
}

std::string status_text(const Value& snapshot, const View& view) {
  const auto& devices = snapshot["devices"].items();
  std::map<std::string, int> counts;
  for (const auto& device : devices) ++counts[device["health"].string_or("unknown")];
  std::string text;
  const auto line = [&](const char* name, const std::string& value, Style style = Style::Plain) {
    std::string label = name;
    label.resize(9, ' ');
    const size_t width = view.page.width == 0 || view.wide ? 0 : view.page.width - label.size();
    text += styled(label, Style::Bold, view.page.colours) +
            styled(fit(value, width), style, view.page.colours) + "\n";
  };
  const auto optional = [](const char* before, const Value& value, const char* after) {
    return value.is_null() ? std::string() : before + shown(value) + after;
  };
  line("Node", shown(snapshot["node"]) + optional(" (", snapshot["instanceType"], ")"));
  const std::string health = snapshot["health"].string_or("");
  line("Health", shown(snapshot["health"]) + optional(": ", snapshot["message"], ""),
       style_of_health(health));
  const auto& driver = snapshot["driver"];
  line("Driver", shown(driver["version"]) + optional(", layout ", driver["layout"], "") +
                     optional(", ", driver["state"], ""));
  line("Devices",
       std::to_string(devices.size()) + optional(" of ", snapshot["expectedDevices"], "") + ": " +
           std::to_string(counts["healthy"]) + " healthy, " + std::to_string(counts["unhealthy"]) +
           " unhealthy, " + std::to_string(counts["unknown"]) + " unknown");
  line("Read", age(snapshot["at"].string_or(""), view.now) + " ago");
  for (const auto& device : devices) {
    const std::string state = device["health"].string_or("unknown");
    if (state == "healthy") continue;
    const std::string action = action_of(device["recommendedAction"]);
    line("",
         device_of(device["index"]) + " " + shown(device["reason"]) + " since " +
             age(device["since"].string_or(""), view.now) +
             (action == "-" ? "" : ", action " + action),
         style_of_health(state));
    for (const auto& part : wrap(shown(device["message"]), view.page.width, kMessageAt))
      text += std::string(kMessageAt, ' ') + part + "\n";
  }
  return text;
}

std::string devices_text(const Value& list, const View& view) {
  std::vector<Row> rows = {{"DEVICE", "HEALTH", "REASON", "ACTION", "FAULTS", "ECC", "SINCE"}};
  if (view.wide) {
    for (const auto* name : {"WARNINGS", "CORRECTED", "SERIAL", "NAME", "CORES", "MEMORY", "READ",
                             "PROBLEM", "MESSAGE"})
      rows[0].emplace_back(name);
  }
  for (const auto& device : list["items"].items()) {
    const auto& ecc = device["ecc"];
    rows.push_back({device_of(device["index"]), health_cell(device["health"]),
                    reason_of(device["reason"]), action_of(device["recommendedAction"]),
                    std::to_string(device["faults"].items().size()),
                    sum_of(ecc, {"sramUncorrected", "memUncorrected", "memRepairableUncorrected"}),
                    age(device["since"].string_or(""), view.now)});
    if (!view.wide) continue;
    const auto& facts = device["device"];
    const auto memory = facts["memoryBytes"].if_double();
    const Row more = {std::to_string(device["warnings"].items().size()),
                      sum_of(ecc, {"sramCorrected", "memCorrected"}),
                      shown(device["serialNumber"]),
                      shown(facts["name"]),
                      shown(facts["cores"]),
                      memory ? bytes_text(*memory) : "-",
                      age(device["readAt"].string_or(""), view.now),
                      shown(device["problem"]),
                      shown(device["message"])};
    rows.back().insert(rows.back().end(), more.begin(), more.end());
  }
  if (rows.size() == 1) return "no Neuron devices are known on this node\n";
  Page page = view.page;
  if (view.wide) page.width = 0;
  return table(rows, page);
}

std::string faults_text(const Value& list, const View& view) {
  std::vector<Row> rows = {{"DEVICE", "CLASS", "SEVERITY", "ACTION", "COUNT", "FIRST", "LAST"}};
  if (view.wide) {
    for (const auto* name : {"CORE", "GENERATION", "VERIFIED", "SERIAL", "WITNESSES", "MESSAGE"})
      rows[0].emplace_back(name);
  }
  for (const auto& fault : list["items"].items()) {
    const std::string severity = fault["severity"].string_or("");
    rows.push_back({device_of(fault["device"]),
                    shown(fault["class"]),
                    {shown(fault["severity"]), severity == "Fatal" ? Style::Bad : Style::Doubtful},
                    action_of(fault["action"]),
                    shown(fault["count"]),
                    age(fault["firstSeen"].string_or(""), view.now),
                    age(fault["lastSeen"].string_or(""), view.now)});
    if (!view.wide) continue;
    const auto verified = fault["verified"].if_bool();
    const Row more = {shown(fault["core"]),
                      shown(fault["generation"]),
                      !verified ? "-" : *verified ? "yes" : "no",
                      shown(fault["serial"]),
                      joined(fault["witnesses"]),
                      shown(fault["message"])};
    rows.back().insert(rows.back().end(), more.begin(), more.end());
  }
  if (rows.size() == 1) return "no active faults or warnings\n";
  Page page = view.page;
  if (view.wide) page.width = 0;
  return table(rows, page);
}

std::string event_line(const Value& event, const View& view) {
  const std::string kind = event["kind"].string_or("");
  const std::string to = event["to"].string_or("");
  Style style = Style::Plain;
  if (kind == "FaultBegan" || kind == "FaultRepeated") style = Style::Bad;
  if (kind == "FaultCleared") style = Style::Good;
  if (kind == "HealthChanged") style = style_of_health(to);
  const std::string at = shown(event["at"]);
  return at.substr(0, 19) + (at.size() > 19 ? "Z  " : "  ") +
         styled(shown(event["kind"]), style, view.page.colours) + "  " + shown(event["message"]) +
         "\n";
}

int health_code(const Value& answer) {
  const auto code_of = [](const Value& health) {
    const std::string word = health.string_or("");
    return word == "healthy" ? 0 : word == "unhealthy" ? 1 : 2;
  };
  if (!answer["items"].is_array()) return code_of(answer["health"]);
  int unhealthy = 0;
  int unknown = answer["items"].items().empty() ? 1 : 0;
  for (const auto& device : answer["items"].items()) {
    const int code = code_of(device["health"]);
    unhealthy += code == 1 ? 1 : 0;
    unknown += code == 2 ? 1 : 0;
  }
  return unhealthy > 0 ? 1 : unknown > 0 ? 2 : 0;
}

int faults_code(const Value& list) {
  const auto& faults = list["items"].items();
  const bool is_fatal = std::any_of(faults.begin(), faults.end(), [](const Value& fault) {
    return fault["severity"].string_or("") == "Fatal";
  });
  return is_fatal ? 1 : 0;
}

}  // namespace nobs::cli
