#include "tests/demo/screen.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::demo {

Screen::Screen(Clock& clock)
    : clock_(clock),
      began_(clock.steady()),
      colours_(::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR")) {}

std::string Screen::colour(const char* code, const std::string& text) const {
  return colours_ ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string Screen::at() const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%7.2f s",
                std::chrono::duration<double>(clock_.steady() - began_).count());
  return colour("2", text.data());
}

void Screen::heading(const std::string& text) const {
  std::printf("\n%s %s\n", at().c_str(), colour("1", text).c_str());
  std::fflush(stdout);
}

void Screen::say(const std::string& text, bool bold) const {
  std::printf("%s   %s\n", at().c_str(), (bold ? colour("1", text) : text).c_str());
  std::fflush(stdout);
}

bool Screen::report(bool came_true, const std::string& text) const {
  const std::string mark = came_true ? colour("32", "✔") : colour("31", "✘");
  std::printf("%s %s %s\n", at().c_str(), mark.c_str(), text.c_str());
  std::fflush(stdout);
  return came_true;
}

void Screen::indented(const std::string& text) const {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) std::printf("            %s\n", line.c_str());
  std::fflush(stdout);
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += row[i] + std::string(i + 1 < row.size() ? widths[i] - row[i].size() + 3 : 0, ' ');
    text += "\n";
  }
  return text;
}

std::string api_table(const kube::Config& config, const std::string& target) {
  net::Client client(config.endpoint);
  net::Request request;
  request.target = config.path_prefix + target;
  request.headers.set("Authorization", "Bearer " + config.token);
  request.headers.set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
  const auto answer = client.send(request, {.total = std::chrono::seconds(10)}, {});
  if (!answer) return answer.error().message;
  const auto table = json::parse(answer->body);
  if (!table) return table.error().message;
  const auto& definitions = (*table)["columnDefinitions"].items();
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& column : definitions) {
    if (column["priority"].int_or(0) != 0) continue;
    std::string name = column["name"].string_or("");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    rows[0].push_back(std::move(name));
  }
  for (const auto& row : (*table)["rows"].items()) {
    const auto& cells = row["cells"].items();
    std::vector<std::string> line;
    for (size_t i = 0; i < std::min(cells.size(), definitions.size()); ++i) {
      if (definitions[i]["priority"].int_or(0) != 0) continue;
      const auto* text = cells[i].if_string();
      line.push_back(text ? *text : cells[i].is_null() ? "" : json::dump(cells[i]));
    }
    rows.push_back(std::move(line));
  }
  return columns(rows);
}

std::string find_kubectl() {
  const char* path = std::getenv("PATH");
  const std::string folders =
      std::string(path ? path : "") + ":" NOBS_SOURCE_DIR "/build/cluster/bin";
  for (const auto& folder : split(folders, ':')) {
    const std::string file = std::string(folder) + "/kubectl";
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace nobs::demo
