// JSON written as YAML, for people. Pure.
#pragma once

#include <string>

#include "shared/json/value.h"

namespace nobs::cli {

std::string to_yaml(const json::Value& value);

}  // namespace nobs::cli
