// How the demo speaks: lines with the time since the start, marks, tables in kubectl's shape.
//
// One thread. Colours only on a terminal, and not when NO_COLOR is set.
#pragma once

#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/kube/config.h"

namespace nobs::demo {

class Screen {
 public:
  explicit Screen(Clock& clock);

  void heading(const std::string& text) const;
  void say(const std::string& text, bool bold = false) const;
  // A mark before it; returns `came_true`.
  bool report(bool came_true, const std::string& text) const;
  void indented(const std::string& text) const;

 private:
  std::string at() const;
  std::string colour(const char* code, const std::string& text) const;

  Clock& clock_;
  SteadyTime began_;
  bool colours_;
};

// In columns, as wide as their widest entry.
std::string columns(const std::vector<std::vector<std::string>>& rows);
// What the API answers to a client that asks for a table, as kubectl does; the error where there is none.
std::string api_table(const kube::Config& config, const std::string& target);
// Of PATH or of build/cluster/bin; empty: none.
std::string find_kubectl();

}  // namespace nobs::demo
