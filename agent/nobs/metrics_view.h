// The agent's /metrics as a table. Pure.
#pragma once

#include <string>
#include <string_view>

#include "agent/nobs/text.h"
#include "shared/json/value.h"

namespace nobs::cli {

// Series of the text format whose line contains `wanted`: name, labels (as written), value. Comments and what is no
// series are left out.
json::Value parse_metrics(std::string_view text, std::string_view wanted);
std::string metrics_text(const json::Value& series, const Page& page);

}  // namespace nobs::cli
