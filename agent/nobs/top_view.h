// One frame of `nobs top`: the node, its devices, and a character for each core. Pure.
#pragma once

#include <string>

#include "agent/nobs/views.h"

namespace nobs::cli {

// `earlier` is the snapshot of the frame before (null: none): what counted up since is at work. `trouble` is shown in the
// last line instead of the legend. At most `height` lines (0: no limit), devices that are not healthy first.
std::string top_frame(const json::Value& snapshot, const json::Value& earlier, const View& view,
                      size_t height, const std::string& trouble);

}  // namespace nobs::cli
