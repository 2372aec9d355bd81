// Strategic merge patch, as far as kubectl and we use it on the built-in kinds.
#pragma once

#include "shared/json/value.h"

namespace nobs::sim {

// Maps merge, null removes; lists of conditions, addresses, containers, volumes, environment variables and owner
// references merge by their key, finalizers as a set, every other list is replaced (taints too, as on the real server).
// Understands $patch (delete, replace), $retainKeys and $deleteFromPrimitiveList; $setElementOrder is ignored.
// False: a list element lacks its merge key.
bool apply_strategic(json::Value& target, const json::Value& patch);

}  // namespace nobs::sim
