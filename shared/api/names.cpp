#include "shared/api/names.h"

#include "shared/base/strings.h"

namespace nobs::api {
namespace {

std::string fit(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  std::string cut(text.substr(0, max - 17));
  while (!cut.empty() && (cut.back() == '.' || cut.back() == '-')) cut.pop_back();
  return cut + "-" + hex16(fnv1a(text));
}

}  // namespace

std::string device_name(std::string_view node, int index) {
  const std::string suffix = "-neuron" + std::to_string(index);
  return fit(node, 253 - suffix.size()) + suffix;
}

std::string heartbeat_name(std::string_view node) {
  return std::string(kHeartbeatPrefix) + fit(node, 253 - kHeartbeatPrefix.size());
}

std::string node_label_value(std::string_view node) { return fit(node, 63); }

}  // namespace nobs::api
