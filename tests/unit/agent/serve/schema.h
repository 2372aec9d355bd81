// As much of JSON Schema as openapi.json uses: does a value have the described shape?
#pragma once

#include <string>
#include <vector>

#include "shared/json/value.h"

namespace nobs::serve::test {

// Every violation, each with the place in the value; empty: it fits. `document` resolves $ref.
std::vector<std::string> violations(const json::Value& value, const json::Value& schema,
                                    const json::Value& document, const std::string& place = "$");

}  // namespace nobs::serve::test
