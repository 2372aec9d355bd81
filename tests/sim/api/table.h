// Objects as `kubectl get` wants them: Accept: application/json;as=Table.
#pragma once

#include "shared/base/clock.h"
#include "tests/sim/api/resources.h"

namespace nobs::sim {

// The Table without rows. `with_columns` false: as in the second and later events of a watch.
json::Value empty_table(const Resource& resource, bool with_columns);
json::Value table_row(const Resource& resource, const json::Value& object, bool with_object,
                      WallTime now);
// "45s", "2m3s", "5h20m", "333d": kubectl's ages.
std::string human_duration(std::chrono::seconds age);

}  // namespace nobs::sim
