// The pieces of the text formats, for families and for the registry, which keeps the rendered labels between scrapes.
//
// Inside shared/metrics only. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/metrics/family.h"

namespace nobs::metrics {

// verb=" and ,code=": what stands before each label's value.
std::vector<std::string> label_openings(const std::vector<std::string>& label_names);
// verb="GET",code="200"
void append_labels(std::string& out, const std::vector<std::string>& openings,
                   const std::vector<std::string>& values);
// `name` is prometheus_name(family), here and below.
void append_head(std::string& out, const Family& family, std::string_view name, TextFormat format);
void append_value(std::string& out, std::string_view name, std::string_view labels, double value);
void append_histogram(std::string& out, const std::vector<double>& bounds, std::string_view name,
                      std::string_view labels, double sum,
                      const std::vector<std::uint64_t>& buckets);

}  // namespace nobs::metrics
