// nobs-docs: the pages of docs/ that come from code.
//
//   nobs-docs DIR            writes faults.md, metrics.md and configuration.md below DIR (make docs)
//   nobs-docs --check DIR    exit code 1 when one is not what would be written (a test)
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "agent/health/rules.h"
#include "agent/sources/layout.h"
#include "agent/telemetry/exports.h"
#include "shared/base/file.h"

namespace {

using namespace nobs;

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

// A person can acknowledge fatal faults only: warnings have no generation.
std::string is_over_when(const health::FaultRule& rule) {
  const std::string text(describe(rule.clears));
  const size_t end =
      rule.severity == api::Severity::Warning ? text.find(", or acknowledged") : std::string::npos;
  return text.substr(0, end);
}

std::string faults() {
  std::string page =
      "# Faults\n\n"
      "<!-- Generated from agent/health/rules.cpp by `make docs`; do not edit. -->\n\n"
      "One row for each class. A device is Unhealthy while it has an active fault of severity "
      "Fatal, and only\n"
      "such a fault, once it is verified, takes a node out of service. A Warning is listed and "
      "changes nothing.\n"
      "\"Acknowledged\" means the annotation `neuronobserver.io/acknowledge` "
      "([operations](operations.md)).\n\n";
  page += row({"class", "severity", "becomes a fault when", "recommended action", "is over when"});
  page += row({"---", "---", "---", "---", "---"});
  for (const auto& rule : health::fault_rules()) {
    page += row({"`" + std::string(to_string(rule.fault)) + "`",
                 std::string(to_string(rule.severity)), std::string(describe(rule.confirm)),
                 std::string(to_string(rule.action)), is_over_when(rule)});
  }
  page += "\n## What each class means, and what speaks for it\n";
  for (const auto& rule : health::fault_rules()) {
    page +=
        "\n### " + std::string(to_string(rule.fault)) + "\n\n" + std::string(rule.meaning) + "\n\n";
    for (const auto witness : rule.witnesses)
      page +=
          "- `" + std::string(to_string(witness)) + "`: " + std::string(describe(witness)) + "\n";
  }
  page +=
      "\nThe witnesses `KernelLine`, `CorrectedRate`, `CoreBusyUnowned` and `FabricRate` belong to "
      "sources that this\nversion does not read yet: classes that have no other witness cannot "
      "appear.\n";
  return page;
}

std::string prometheus_name(std::string name, bool is_counter) {
  std::ranges::replace(name, '.', '_');
  return is_counter ? name + "_total" : name;
}

std::string source_of(const telemetry::Metric& metric) {
  const std::string text(metric.source);
  if (metric.origin == telemetry::Origin::Driver) return "`" + text + "`";
  if (metric.origin == telemetry::Origin::Fabric) return "`hw_counters/" + text + "`";
  return text;
}

std::string drivers_of(const telemetry::Metric& metric) {
  if (metric.origin != telemetry::Origin::Driver) return "";
  const auto since = sources::first_driver_with(metric.source);
  return since ? "≥ " + std::to_string(since->major) + "." + std::to_string(since->minor) : "";
}

std::string metrics_page() {
  const auto exports = telemetry::parse_exports(telemetry::default_exports_yaml()).exports;
  std::string page =
      "# Device metrics\n\n"
      "<!-- Generated from agent/telemetry/catalogue.cpp and exports.yaml by `make docs`; do not "
      "edit. -->\n\n"
      "Every metric of the Neuron Observer contract by its base name, and the series that the "
      "built-in export configuration\nmakes of it (`export.metrics_config` names another one). The "
      "OTLP name has dots and no "
      "`_total`.\nOur own metrics are in [operations](operations.md).\n\n"
      "Series of a device carry `neuron_device_index`, of a core also `neuroncore` (the node's "
      "physical cores counted through:\ndevice × cores per device + core), of a vCPU `vcpu`, of "
      "EFA `efa_device` and "
      "`efa_port`; roll-ups to `system` carry none.\nCounters never fall while the agent runs: "
      "what happens when the driver is loaded again is in [decisions](decisions.md).\n";
  for (const auto scope : {telemetry::Scope::Device, telemetry::Scope::Core, telemetry::Scope::Vcpu,
                           telemetry::Scope::System, telemetry::Scope::Efa}) {
    page += "\n## Scope " + std::string(telemetry::to_string(scope)) + "\n\n";
    page += row({"metric", "meaning", "unit", "kind", "source", "driver", "series by default"});
    page += row({"---", "---", "---", "---", "---", "---", "---"});
    for (const auto* metric : telemetry::metrics_of(scope)) {
      const bool is_nowhere = metric->origin == telemetry::Origin::Nowhere;
      std::string series;
      for (const auto& entry : exports.list) {
        if (entry.metric != metric || is_nowhere) continue;
        series +=
            (series.empty() ? "`" : ", `") + prometheus_name(entry.name, entry.is_counter()) + "`";
      }
      page += row({"`" + std::string(metric->name) + "`", std::string(metric->help),
                   std::string(metric->unit), metric->is_counter() ? "counter" : "gauge",
                   (is_nowhere ? "not exported: only in " : "") + source_of(*metric),
                   drivers_of(*metric), series});
    }
  }
  return page;
}

// What a program prints.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  ::pclose(pipe);
  return text;
}

std::string configuration_page() {
  const std::string build(NOBS_BUILD_DIR);
  std::string page =
      "# Configuration\n\n"
      "<!-- Generated from what the programs print by `make docs`; do not edit. -->\n\n"
      "`--print-config` shows the options in force and where each came from, `--check-config` "
      "lists "
      "every mistake.\nThe agent takes Neuron Observer's `config.yaml` and `exports.yaml` as they "
      "are; metrics are pushed to an OpenTelemetry\ncollector when "
      "`OTEL_EXPORTER_OTLP_ENDPOINT` is set ([decisions](decisions.md)).\n";
  for (const char* program : {"neuron-observer-agent", "neuron-observer-operator", "nobs"})
    page += "\n## " + std::string(program) + "\n\n```text\n" +
            output_of(build + "/" + program + " --help") + "```\n";
  return page;
}

struct Page {
  std::string name, content;
};

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: nobs-docs [--check] DIR\n");
    return 3;
  }
  int result = 0;
  const std::vector<Page> pages = {{"faults.md", faults()},
                                   {"metrics.md", metrics_page()},
                                   {"configuration.md", configuration_page()}};
  for (const Page& page : pages) {
    const std::string path = std::string(argv[argc - 1]) + "/" + page.name;
    if (check) {
      const auto now = read_file(path, 1U << 20);
      if (now && *now == page.content) continue;
      std::fprintf(stderr, "%s is not what the code says: run `make docs`\n", path.c_str());
      result = 1;
    } else if (const auto written = write_file_atomically(path, page.content); !written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
      result = 1;
    }
  }
  return result;
}
