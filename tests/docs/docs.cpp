// nobs-docs: the pages of docs/ that come from code.
//
//   nobs-docs DIR            writes DIR/faults.md (make docs)
//   nobs-docs --check DIR    exit code 1 when it is not what would be written (a test)
#include <cstdio>
#include <string>
#include <vector>

#include "agent/health/rules.h"
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

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: nobs-docs [--check] DIR\n");
    return 3;
  }
  const std::string path = std::string(argv[argc - 1]) + "/faults.md";
  if (check) {
    const auto now = read_file(path, 1U << 20);
    if (now && *now == faults()) return 0;
    std::fprintf(stderr, "%s is not what agent/health/rules.cpp says: run `make docs`\n",
                 path.c_str());
    return 1;
  }
  if (const auto written = write_file_atomically(path, faults()); !written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
