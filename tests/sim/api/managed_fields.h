// metadata.managedFields: who wrote which field last.
//
// The operator tells a person's cordon from its own by it, so it is kept as the real server keeps it: an entry for each
// manager, operation and subresource, with the fields that it set or changed. Simplified: arrays are one field, except
// conditions, which are kept by type.
#pragma once

#include <string>

#include "shared/json/value.h"

namespace nobs::sim {

struct Writer {
  std::string manager;    // fieldManager, or the user agent up to its first slash
  std::string operation;  // Update or Apply
  std::string subresource;
  std::string time;
};

// Notes in `object` what differs from `old` (null at creation). What was never tracked stays so, except by an apply.
void note_writer(json::Value& object, const json::Value& old, bool custom, const Writer& writer);

}  // namespace nobs::sim
