// The rules of design section 11 that no compiler checks: who includes whom, and what a header looks like. Reads the
// source tree; lists every violation, not the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/strings.h"

namespace nobs {
namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::string>;

const Folders kShared = {"shared/base",    "shared/log", "shared/json", "shared/config",
                         "shared/metrics", "shared/net", "shared/otel", "shared/kube",
                         "shared/runtime", "shared/api"};

// Which folders a folder's files may include, besides its own.
const std::map<std::string, Folders> kAllowed = {
    {"shared/base", {}},
    {"shared/log", {"shared/base"}},
    {"shared/json", {"shared/base"}},
    {"shared/config", {"shared/base", "shared/json"}},
    {"shared/metrics", {"shared/base"}},
    {"shared/net", {"shared/base"}},
    {"shared/otel", {"shared/base", "shared/log", "shared/json", "shared/metrics", "shared/net"}},
    {"shared/kube", {"shared/base", "shared/net", "shared/json", "shared/config"}},
    {"shared/runtime",
     {"shared/base", "shared/json", "shared/kube", "shared/metrics", "shared/log"}},
    {"shared/api", {"shared/base", "shared/json"}},
};

// Folders of the programs may include all of shared, and of their own program these.
const std::map<std::string, Folders> kPrograms = {
    {"agent/sources", {}},
    {"agent/telemetry", {"agent/sources"}},
    {"agent/health", {"agent/sources"}},
    {"agent/workload", {"agent/sources"}},
    {"agent/publish", {"agent/sources", "agent/health", "agent/workload"}},
    {"agent/serve", {"agent/sources", "agent/health", "agent/workload", "agent/publish"}},
    {"agent/nobs", {}},  // a client: it knows the agent only by what it answers
    {"agent",
     {"agent/sources", "agent/telemetry", "agent/health", "agent/workload", "agent/publish",
      "agent/serve"}},
    {"operator/decide", {}},
    {"operator/watch", {"operator/decide"}},
    {"operator/act", {"operator/decide", "operator/watch"}},
    {"operator/serve", {"operator/decide", "operator/watch", "operator/act"}},
    {"operator", {"operator/decide", "operator/watch", "operator/act", "operator/serve"}},
};

// The beginnings of third-party headers, and the folders whose .cpp files may include them.
const std::map<std::string, Folders> kOwners = {
    {"httplib", {}},
    {"openssl/", {"shared/net", "tests/sim/api", "tests/unit/net"}},
    {"zlib.h", {"shared/net", "shared/otel", "tests/sim/api", "tests/unit/net", "tests/unit/otel"}},
    {"nlohmann/", {"shared/json"}},
    {"yaml-cpp/", {"shared/config", "tests/sim/api"}},
    {"spdlog/", {"shared/log"}},
    {"fmt/", {}},
    {"fuse", {"tests/sim/tree"}},
};

constexpr size_t kMaxMainLines = 120;

struct File {
  std::string path, folder;  // relative to the source tree
  std::vector<std::string> lines;

  bool is_header() const { return path.ends_with(".h"); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

std::string content(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<File> source_tree(const fs::path& root) {
  std::vector<File> files;
  for (const char* top : {"shared", "agent", "operator", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
      const fs::path path = fs::relative(entry.path(), root);
      files.push_back(
          {path.string(), path.parent_path().string(), lines_of(content(entry.path()))});
    }
  }
  return files;
}

// What stands between the quotes or brackets; empty when the line includes nothing.
std::string included(const std::string& line) {
  const auto text = trim(line);
  if (!text.starts_with("#include")) return {};
  const size_t begin = text.find_first_of("<\"");
  const size_t end = text.find_last_of(">\"");
  if (begin == std::string_view::npos || end <= begin) return {};
  return std::string(text.substr(begin + 1, end - begin - 1));
}

// The folder an include reaches into: "" for system headers.
std::string reached_folder(const std::string& header) {
  for (const char* top : {"shared/", "agent/", "operator/", "tests/"}) {
    if (header.starts_with(top)) return header.substr(0, header.rfind('/'));
  }
  return {};
}

std::string program_of(const std::string& folder) { return folder.substr(0, folder.find('/')); }

bool may_include(const std::string& from, const std::string& to) {
  if (from == to || program_of(from) == "tests") return true;
  if (const auto shared = kAllowed.find(from); shared != kAllowed.end()) {
    return shared->second.contains(to);
  }
  const auto program = kPrograms.find(from);
  if (program == kPrograms.end()) return false;
  return kShared.contains(to) || program->second.contains(to);
}

std::vector<std::string> check_includes(const File& file) {
  std::vector<std::string> violations;
  const std::string program = program_of(file.folder);
  if (program != "tests" && !kAllowed.contains(file.folder) && !kPrograms.contains(file.folder)) {
    violations.push_back(file.path + ": its folder is not in the table of layers");
  }
  Folders programs;
  for (const auto& line : file.lines) {
    const std::string header = included(line);
    if (header.empty()) continue;
    const std::string folder = reached_folder(header);
    if (!folder.empty()) programs.insert(program_of(folder));
    if (!folder.empty() && !may_include(file.folder, folder)) {
      violations.push_back(file.path + ": may not include " + header);
    }
    for (const auto& [beginning, owners] : kOwners) {
      if (!folder.empty() || !header.starts_with(beginning)) continue;
      if (file.is_header() || !owners.contains(file.folder)) {
        violations.push_back(file.path + ": may not include " + header);
      }
    }
    if (header.starts_with("..") || header.find("/../") != std::string::npos) {
      violations.push_back(file.path + ": includes by a relative path: " + header);
    }
  }
  if (programs.contains("agent") && programs.contains("operator")) {
    violations.push_back(file.path + ": includes both agent and operator");
  }
  return violations;
}

std::vector<std::string> check_shape(const File& file) {
  std::vector<std::string> violations;
  const auto has_line = [&](const std::string& wanted) {
    return std::find(file.lines.begin(), file.lines.end(), wanted) != file.lines.end();
  };
  if (file.is_header() && !has_line("#pragma once")) {
    violations.push_back(file.path + ": has no #pragma once");
  }
  if (file.is_header() && !file.lines[0].starts_with("// ")) {
    violations.push_back(file.path + ": does not begin by saying what it is for");
  }
  const bool is_main = file.path == "agent/main.cpp" || file.path == "operator/main.cpp" ||
                       file.path == "agent/nobs/main.cpp";
  const size_t count = file.lines.size() - (file.lines.back().empty() ? 1 : 0);
  if (is_main && count > kMaxMainLines) {
    violations.push_back(file.path + ": has " + std::to_string(count) + " lines, more than " +
                         std::to_string(kMaxMainLines));
  }
  return violations;
}

// Every folder of the table that holds sources is a library, and every program is built.
std::vector<std::string> check_names(const std::vector<File>& files, const std::string& cmake) {
  std::vector<std::string> violations;
  Folders folders;
  for (const auto& file : files) {
    if (program_of(file.folder) != "tests") folders.insert(file.folder);
  }
  for (const auto& folder : folders) {
    std::string target = folder.starts_with("shared/") ? folder.substr(7) : folder;
    std::replace(target.begin(), target.end(), '/', '_');
    const bool is_program = folder == "agent" || folder == "operator";
    const std::string wanted =
        is_program ? " " + folder + " " : "nobs_library(" + target + " " + folder;
    if (cmake.find(wanted) == std::string::npos) {
      violations.push_back("CMakeLists.txt: no library for " + folder);
    }
  }
  for (const char* shared :
       {"base", "log", "json", "config", "metrics", "net", "otel", "kube", "runtime", "api"}) {
    if (!folders.contains(std::string("shared/") + shared)) {
      violations.push_back(std::string("shared/") + shared + ": is empty or not there");
    }
  }
  for (const char* program : {"nobs_program(neuron-observer-agent agent/main.cpp",
                              "nobs_program(neuron-observer-operator operator/main.cpp",
                              "nobs_program(nobs agent/nobs/main.cpp"}) {
    if (cmake.find(program) == std::string::npos) {
      violations.push_back(std::string("CMakeLists.txt: no ") + program);
    }
  }
  return violations;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

File file(const std::string& path, const std::string& text) {
  return {path, path.substr(0, path.rfind('/')), lines_of(text)};
}

TEST_CASE("the tree keeps to its layers") {
  const fs::path root = NOBS_SOURCE_DIR;
  const auto files = source_tree(root);
  REQUIRE(files.size() > 50);
  std::vector<std::string> violations = check_names(files, content(root / "CMakeLists.txt"));
  for (const auto& each : files) {
    append(violations, check_includes(each));
    append(violations, check_shape(each));
  }
  for (const auto& violation : violations) FAIL_CHECK(violation);
}

TEST_CASE("each rule catches what it forbids") {
  const auto breaks = [](const std::string& path, const std::string& text) {
    return check_includes(file(path, text)).size();
  };
  CHECK(breaks("agent/serve/x.cpp", "#include \"operator/act/reconciler.h\"") == 1);
  CHECK(breaks("operator/act/x.h", "#include \"agent/health/judge.h\"") == 1);
  CHECK(breaks("tests/unit/x.cpp", "#include \"agent/cycle.h\"\n#include \"operator/options.h\"") ==
        1);
  CHECK(breaks("shared/base/x.cpp", "#include \"shared/json/value.h\"") == 1);
  CHECK(breaks("shared/kube/x.cpp", "#include \"shared/api/names.h\"") == 1);
  CHECK(breaks("shared/kube/x.cpp", "  #include \"agent/cycle.h\"") == 1);
  CHECK(breaks("agent/sources/x.cpp", "#include \"agent/health/judge.h\"") == 1);
  CHECK(breaks("agent/serve/x.cpp", "#include \"tests/support/eventually.h\"") == 1);
  CHECK(breaks("agent/nobs/x.cpp", "#include \"agent/health/judge.h\"") == 1);
  CHECK(breaks("shared/base/x.cpp", "#include <spdlog/spdlog.h>\n#include <fmt/core.h>") == 2);
  CHECK(breaks("shared/net/x.h", "#include <openssl/ssl.h>") == 1);
  CHECK(breaks("shared/net/x.cpp", "#include <httplib.h>") == 1);
  CHECK(breaks("shared/base/x.cpp", "#include \"../json/value.h\"") == 1);
  CHECK(breaks("shared/other/x.cpp", "") == 1);
  CHECK(breaks("shared/net/x.cpp", "#include <openssl/ssl.h>\n#include \"shared/base/result.h\"") ==
        0);
  CHECK(breaks("agent/serve/x.cpp",
               "#include \"shared/net/server.h\"\n#include \"agent/health/judge.h\"") == 0);

  CHECK(check_shape(file("shared/base/x.h", "// For.\nint x;\n")).size() == 1);
  CHECK(check_shape(file("shared/base/x.h", "#pragma once\n// Late.\n")).size() == 1);
  CHECK(check_shape(file("shared/base/x.h", "// For.\n#pragma once\n")).empty());
  const std::string long_text(120, '\n');
  CHECK(check_shape(file("agent/main.cpp", long_text)).empty());
  CHECK(check_shape(file("agent/main.cpp", long_text + "\n")).size() == 1);

  CHECK(check_names({}, "").size() == 10 + 3);
  const auto undeclared = check_names({file("agent/new/x.cpp", "")}, "");
  CHECK(std::count(undeclared.begin(), undeclared.end(),
                   "CMakeLists.txt: no library for agent/new") == 1);
}

}  // namespace
}  // namespace nobs
