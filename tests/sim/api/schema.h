// What a CRD's schema does to an object: unknown members go, defaults come, mistakes are listed.
//
// Evaluated: type, nullable, enum, minimum, maximum, minLength, maxLength, pattern, format date-time, required, minItems,
// maxItems, maxProperties, additionalProperties, list types set and map, int-or-string, preserve-unknown-fields.
// Of x-kubernetes-validations only rules that are comparisons (==) of members of self, members of oldSelf and text, joined
// by ||, and that mention oldSelf: immutability. Not evaluated: every other CEL rule, anyOf, oneOf, allOf, not.
#pragma once

#include <string>
#include <vector>

#include "shared/json/value.h"
#include "tests/sim/api/status.h"

namespace nobs::sim {

// Removes what the schema does not know, and null where it may not be. Answers the paths of unknown members.
std::vector<std::string> prune(json::Value& object, const json::Value& schema);
void apply_defaults(json::Value& object, const json::Value& schema);
// `old`: the object as it was, null at creation.
std::vector<Cause> mistakes(const json::Value& object, const json::Value& old,
                            const json::Value& schema);

}  // namespace nobs::sim
