// Which fault hits which request, and the log of requests.
//
// Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "tests/sim/api/api_server.h"
#include "tests/sim/api/status.h"

namespace nobs::sim {

class Faults {
 public:
  void inject(Fault fault);
  void clear();
  // The first fault that matches and is not used up; counts the request.
  std::optional<Fault> hit(const RequestRecord& request);

 private:
  std::mutex mutex_;
  std::vector<Fault> faults_;
};

class RequestLog {
 public:
  void note(RequestRecord record);
  std::vector<RequestRecord> all() const;
  void clear();

 private:
  static constexpr size_t kMost = 500'000;  // a benchmark's worth; the oldest half goes
  mutable std::mutex mutex_;
  std::vector<RequestRecord> records_;
};

// The members of Fault by name, latency as latency_ms, answer as "closed", "half" or "silent".
Result<Fault> parse_fault(const json::Value& value);
json::Value to_json(const RequestRecord& record);
// The Status of a fault's code, worded as the server's own.
Reply fault_status(const Fault& fault);

}  // namespace nobs::sim
