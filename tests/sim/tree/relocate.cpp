#include <stdexcept>

#include "tests/sim/tree/profile.h"
#include "tests/sim/tree/tree.h"

namespace nobs::sim {
namespace {

bool replace_prefix(std::string& text, std::string_view from, std::string_view to) {
  if (!text.starts_with(from)) return false;
  text.replace(0, from.size(), to);
  return true;
}

}  // namespace

std::string relocate(TreeLayout layout, std::string_view leaf) {
  std::string path(leaf);
  if (layout == TreeLayout::SyntheticB1) {
    if (!replace_prefix(path, "stats/hardware/", "hardware/"))
      replace_prefix(path, "stats/power/", "hardware/power/");
  } else if (layout == TreeLayout::SyntheticB2 && path.starts_with("neuron_core")) {
    const size_t end = path.find('/');
    std::string below = path.substr(end + 1);
    replace_prefix(below, "stats/status/", "status/");
    path = "cores/" + path.substr(0, end + 1) + below;
  }
  return path;
}

TreeLayout layout_from(std::string_view name) {
  for (const TreeLayout layout :
       {TreeLayout::A, TreeLayout::SyntheticB1, TreeLayout::SyntheticB2, TreeLayout::SyntheticB3})
    if (name == to_string(layout)) return layout;
  throw std::runtime_error("no such layout: " + std::string(name) +
                           "; there are A, synthetic-b1, synthetic-b2, synthetic-b3");
}

std::string_view to_string(TreeLayout layout) {
  switch (layout) {
    case TreeLayout::A:
      return "A";
    case TreeLayout::SyntheticB1:
      return "synthetic-b1";
    case TreeLayout::SyntheticB2:
      return "synthetic-b2";
    case TreeLayout::SyntheticB3:
      return "synthetic-b3";
  }
  return "";
}

}  // namespace nobs::sim
