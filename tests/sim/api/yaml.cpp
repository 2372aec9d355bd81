#include <yaml-cpp/yaml.h>

#include "tests/sim/api/resources.h"

namespace nobs::sim {
namespace {

struct Converter {
  int nodes_left = 1'000'000;  // aliases make a small text a large tree

  json::Value scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;  // quoted
    if (text == "true" || text == "false") return text == "true";
    std::int64_t whole = 0;
    double real = 0;
    // yaml-cpp reads "010" as octal 8; as JSON and YAML 1.2 have it, that is no number.
    const bool octal = text.size() > 1 && text[0] == '0' && text[1] != '.';
    if (!octal && YAML::convert<std::int64_t>::decode(node, whole)) return whole;
    if (!octal && YAML::convert<double>::decode(node, real)) return real;
    return text;
  }

  json::Value convert(const YAML::Node& node, int depth) {
    if (--nodes_left < 0 || depth > json::kMaxDepth)
      throw YAML::Exception(YAML::Mark::null_mark(), "the document is too large or too deep");
    if (node.IsScalar()) return scalar(node);
    if (node.IsSequence()) {
      json::Array items;
      for (const auto& item : node) items.push_back(convert(item, depth + 1));
      return items;
    }
    if (node.IsMap()) {
      json::Object members;
      for (const auto& member : node)
        members[member.first.Scalar()] = convert(member.second, depth + 1);
      return members;
    }
    return nullptr;
  }
};

}  // namespace

Result<json::Value> parse_yaml(const std::string& text) {
  try {
    return Converter{}.convert(YAML::Load(text), 0);
  } catch (const YAML::Exception& problem) {
    return invalid(problem.what());
  }
}

}  // namespace nobs::sim
