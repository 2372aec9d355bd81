// JSON patch (RFC 6902), with the habits of the library that the real server uses (evanphx/json-patch v4).
#pragma once

#include "shared/json/value.h"

namespace nobs::sim {

// False: the patch cannot be applied, and `document` is as it was. `operations` is an array.
// Habits: `test` of null passes where the member is absent but its parent is there; `replace` of an absent member adds.
bool apply_json_patch(json::Value& document, const json::Value& operations);

}  // namespace nobs::sim
