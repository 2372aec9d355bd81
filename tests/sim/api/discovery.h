// What clients ask before they ask for anything: groups, resources, the version, OpenAPI v3.
//
// The old form of discovery only; kubectl takes it when the new one is not offered.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tests/sim/api/resources.h"

namespace nobs::sim {

// Nothing: not a path of discovery.
std::optional<json::Value> discover(const std::vector<Resource>& resources, std::string_view path,
                                    const std::string& address);

}  // namespace nobs::sim
