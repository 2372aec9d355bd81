// A decision as one atomic JSON patch: `test` operations on everything that was read, then the changes. Pure.
#pragma once

#include "operator/decide/plan.h"
#include "shared/json/value.h"

namespace nobs::decide {

// Operations for PATCH nodes/<name>, application/json-patch+json. Applied as a whole or, when anything that the decision
// rests on has changed, not at all (Conflict). Never names what is not ours: others' taints are tested, not written.
// An empty array for Act::Nothing and for a dry run.
json::Value build_patch(const api::Node& node, const Decision& decision);

}  // namespace nobs::decide
