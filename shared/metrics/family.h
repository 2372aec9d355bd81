// A family of series as a plain value: what a scrape shows and an OTLP push sends, whichever counted it.
//
// For the registry (its own families), the agent's telemetry (those of the export configuration), the text formats and the
// OTLP encoder. Names are OpenTelemetry's ("neuron.core.utilization.avg", or "neuron_observer_cycles" for our own):
// Prometheus' name has _ for every dot and _total behind a counter.
//
//   Family family{.name = "neuron.system.vcpu_count", .unit = "{cpu}", .help = "CPUs of the node."};
//   family.points.push_back({{}, 192});
//   std::string out;
//   append_text(out, family, TextFormat::Prometheus);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nobs::metrics {

enum class Type {
  Counter,
  Gauge,
  Histogram
};  // a counter's value only rises while its point exists

struct Point {
  std::vector<std::string>
      labels;        // values, in the order of label_names; UTF-8 or cleaned when shown
  double value = 0;  // of a histogram: the sum
  std::vector<std::uint64_t> buckets;  // of a histogram: not cumulative, one more than bounds
};

struct Family {
  std::string name;
  std::string unit;  // UCUM: "By", "s", "%", "1", "{error}"; empty: none
  std::string help;
  Type type = Type::Gauge;
  std::vector<std::string> label_names;
  std::vector<double> bounds;  // of a histogram: upper ones, without +Inf
  std::vector<Point> points;   // each with different labels
};

enum class TextFormat {
  Prometheus,
  OpenMetrics
};  // 0.0.4 and 1.0; the caller writes OpenMetrics' "# EOF"

// A label value as every export shows it: UTF-8, at most 1,024 bytes.
std::string label_text(std::string_view value);
// Prometheus' name of a family's samples: "neuron_core_infer_completed_sum_total".
std::string prometheus_name(const Family& family);
// HELP, TYPE and the samples in the order of the points; nothing for a family without points.
void append_text(std::string& out, const Family& family, TextFormat format);

}  // namespace nobs::metrics
