#include "tests/sim/api/selectors.h"

#include <algorithm>
#include <optional>

#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

bool holds(const Requirement& requirement, const Texts& texts) {
  const auto found = texts.find(requirement.key);
  const bool present = found != texts.end();
  const auto& values = requirement.values;
  const bool listed =
      present && std::find(values.begin(), values.end(), found->second) != values.end();
  switch (requirement.is) {
    case Requirement::Is::Present:
      return present;
    case Requirement::Is::Absent:
      return !present;
    case Requirement::Is::In:
      return listed;
    case Requirement::Is::NotIn:
      return !listed;
  }
  return false;
}

// Splits at commas outside of brackets.
std::vector<std::string_view> terms(std::string_view text) {
  std::vector<std::string_view> result;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const auto term = trim(text.substr(begin, i - begin));
      if (!term.empty()) result.push_back(term);
      begin = i + 1;
    } else {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    }
  }
  return result;
}

// "a=b", "a==b", "a!=b".
std::optional<Requirement> comparison(std::string_view term) {
  const size_t at = term.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const bool negated = term[at - 1] == '!';
  const bool doubled = at + 1 < term.size() && term[at + 1] == '=';
  return Requirement{std::string(trim(term.substr(0, negated ? at - 1 : at))),
                     negated ? Requirement::Is::NotIn : Requirement::Is::In,
                     {std::string(trim(term.substr(at + (doubled ? 2 : 1))))}};
}

// "a in (b,c)", "a notin (b)", "a", "!a".
std::optional<Requirement> label_requirement(std::string_view term) {
  if (auto compared = comparison(term); compared) return compared;
  const size_t open = term.find('(');
  if (open != std::string_view::npos && term.back() == ')') {
    const auto words = split(trim(term.substr(0, open)), ' ');
    if (words.size() < 2 || (words.back() != "in" && words.back() != "notin")) return std::nullopt;
    Requirement result{std::string(words[0]),
                       words.back() == "in" ? Requirement::Is::In : Requirement::Is::NotIn,
                       {}};
    for (const auto value : split(term.substr(open + 1, term.size() - open - 2), ','))
      result.values.emplace_back(trim(value));
    return result;
  }
  const bool absent = term[0] == '!';
  const auto key = trim(term.substr(absent ? 1 : 0));
  if (key.empty() || key.find(' ') != std::string_view::npos) return std::nullopt;
  return Requirement{
      std::string(key), absent ? Requirement::Is::Absent : Requirement::Is::Present, {}};
}

std::string text_of(const json::Value& value) {
  if (const auto* text = value.if_string()) return *text;
  return value.is_null() ? std::string() : json::dump(value);
}

}  // namespace

bool Selector::matches(const Texts& object_labels, const Texts& object_fields) const {
  const auto all = [](const std::vector<Requirement>& requirements, const Texts& texts) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&](const Requirement& r) { return holds(r, texts); });
  };
  return all(labels, object_labels) && all(fields, object_fields);
}

std::variant<Selector, Reply> parse_selector(const Resource& resource, std::string_view labels,
                                             std::string_view fields) {
  Selector result;
  for (const auto term : terms(labels)) {
    auto requirement = label_requirement(term);
    if (!requirement) {
      const auto words = split(term, ' ');
      return bad_request("unable to parse requirement: found '" +
                         std::string(words.size() > 1 ? words[1] : words[0]) +
                         "', expected: in, notin, =, ==, !=, gt, lt");
    }
    result.labels.push_back(std::move(*requirement));
  }
  const auto known = selectable_fields(resource, nullptr);
  for (const auto term : terms(fields)) {
    auto requirement = comparison(term);
    if (!requirement)
      return bad_request("invalid selector: '" + std::string(fields) + "'; can't understand '" +
                         std::string(term) + "'");
    if (known.count(requirement->key) == 0)
      return bad_request("field label not supported: " + requirement->key);
    result.fields.push_back(std::move(*requirement));
  }
  return result;
}

Texts selectable_fields(const Resource& resource, const json::Value& object) {
  Texts result{{"metadata.name", object["metadata"]["name"].string_or("")}};
  // Custom resources know metadata.namespace whatever their scope.
  if (resource.namespaced || resource.custom)
    result["metadata.namespace"] = object["metadata"]["namespace"].string_or("");
  for (const auto& path : resource.selectable) result[path] = text_of(at_path(object, path));
  if (result.count("spec.unschedulable") > 0 && result["spec.unschedulable"].empty())
    result["spec.unschedulable"] = "false";
  return result;
}

Texts labels_of(const json::Value& object) {
  Texts result;
  for (const auto& [key, value] : object["metadata"]["labels"].members())
    result[key] = value.string_or("");
  return result;
}

}  // namespace nobs::sim
