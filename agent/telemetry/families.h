// Meters and export configuration → families of series, for /metrics and OTLP alike. Pure.
//
// A counter that belongs to a device that is gone or cannot be read is still part of its node's sum, which so never falls;
// no series of its own is shown. Nothing is shown that was never read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/sources/fabric.h"
#include "agent/sources/reading.h"
#include "agent/telemetry/exports.h"
#include "agent/telemetry/meters.h"
#include "shared/metrics/family.h"

namespace nobs::telemetry {

// Labels of the info metrics that no driver file gives; what is not known is not in it.
using NodeFacts = std::map<std::string, std::string, std::less<>>;

std::vector<metrics::Family> families_of(const Meters& meters, const Exports& exports);

// device_info and system_info.
std::vector<metrics::Family> info_families(const sources::NodeReading& reading,
                                           const sources::UltraServer& ultraserver,
                                           const NodeFacts& facts, const Meters& meters,
                                           const Exports& exports);

}  // namespace nobs::telemetry
