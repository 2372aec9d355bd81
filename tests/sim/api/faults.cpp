#include "tests/sim/api/faults.h"

namespace nobs::sim {
namespace {

bool matches(const Fault& fault, const RequestRecord& request) {
  return (fault.verb.empty() || fault.verb == request.verb) &&
         (fault.resource.empty() || fault.resource == request.resource) &&
         (fault.name.empty() || fault.name == request.name) &&
         request.user_agent.find(fault.user_agent) != std::string::npos;
}

}  // namespace

void Faults::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<Fault> Faults::hit(const RequestRecord& request) {
  const std::lock_guard lock(mutex_);
  for (auto& fault : faults_) {
    if (fault.count == 0 || !matches(fault, request)) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.count > 0) --fault.count;
    return fault;
  }
  return std::nullopt;
}

void RequestLog::note(RequestRecord record) {
  const std::lock_guard lock(mutex_);
  if (records_.size() >= kMost) records_.erase(records_.begin(), records_.begin() + kMost / 2);
  records_.push_back(std::move(record));
}

std::vector<RequestRecord> RequestLog::all() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

void RequestLog::clear() {
  const std::lock_guard lock(mutex_);
  records_.clear();
}

Result<Fault> parse_fault(const json::Value& value) {
  if (!value.is_object()) return invalid("a fault is an object");
  Fault fault;
  for (const auto& [key, member] : value.members()) {
    const int number = static_cast<int>(member.int_or(0));
    const std::string text = member.string_or("");
    if (key == "verb") {
      fault.verb = text;
    } else if (key == "resource") {
      fault.resource = text;
    } else if (key == "name") {
      fault.name = text;
    } else if (key == "user_agent") {
      fault.user_agent = text;
    } else if (key == "skip") {
      fault.skip = number;
    } else if (key == "count") {
      fault.count = number;
    } else if (key == "latency_ms") {
      fault.latency = std::chrono::milliseconds(number);
    } else if (key == "takes_effect") {
      fault.takes_effect = member.bool_or(false);
    } else if (key == "status") {
      fault.status = number;
    } else if (key == "retry_after") {
      fault.retry_after = number;
    } else if (key == "answer" && (text == "closed" || text == "half" || text == "silent")) {
      fault.answer = text == "closed" ? Broken::Closed
                     : text == "half" ? Broken::Half
                                      : Broken::Silent;
    } else {
      return invalid(key + ": no such member of a fault, or no such value");
    }
  }
  return fault;
}

json::Value to_json(const RequestRecord& record) {
  return json::object({{"verb", record.verb},
                       {"resource", record.resource},
                       {"namespace", record.ns},
                       {"name", record.name},
                       {"target", record.target},
                       {"user", record.user},
                       {"userAgent", record.user_agent},
                       {"contentType", record.content_type},
                       {"bodyBytes", static_cast<std::int64_t>(record.body_bytes)},
                       {"code", record.code}});
}

Reply fault_status(const Fault& fault) {
  const auto reason = [&]() -> const char* {
    switch (fault.status) {
      case 401:
        return "Unauthorized";
      case 403:
        return "Forbidden";
      case 404:
        return "NotFound";
      case 409:
        return "Conflict";
      case 410:
        return "Expired";
      case 422:
        return "Invalid";
      case 429:
        return "TooManyRequests";
      case 503:
        return "ServiceUnavailable";
      case 504:
        return "Timeout";
      default:
        return "InternalError";
    }
  };
  return failure(fault.status, reason(), "an injected fault");
}

}  // namespace nobs::sim
