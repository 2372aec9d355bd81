// A value, or the reason why there is none. Everything that can fail because of the outside world returns one.
//
//   Result<int> parse(std::string_view text);
//   if (auto number = parse(text); !number) return number.error();
//   else use(*number);
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace nobs {

enum class ErrorCode {
  Invalid,       // the input is wrong: message says what, where and what is accepted
  NotFound,      // HTTP 404
  Conflict,      // HTTP 409, or a JSON patch whose test failed (422)
  Gone,          // HTTP 410: the resourceVersion or continue token expired
  Exists,        // HTTP 409 AlreadyExists
  Unauthorized,  // HTTP 401
  Forbidden,     // HTTP 403
  Rejected,      // HTTP 400, 413, 422: the server will never take this request
  TooMany,       // HTTP 429
  Server,        // HTTP 5xx
  Unreachable,   // connect, TLS, read or write failed
  Timeout,       // a deadline passed
  Stopped,       // we were asked to stop
};

struct Error {
  ErrorCode code = ErrorCode::Invalid;
  std::string message;
  int http_status = 0;                                   // 0: not from HTTP
  std::optional<std::chrono::milliseconds> retry_after;  // what the server asked for

  bool is_conflict() const { return code == ErrorCode::Conflict; }
  bool is_gone() const { return code == ErrorCode::Gone; }
  bool is_not_found() const { return code == ErrorCode::NotFound; }
  bool is_exists() const { return code == ErrorCode::Exists; }
  bool is_stopped() const { return code == ErrorCode::Stopped; }
  // The same request may succeed later, unchanged.
  bool is_temporary() const {
    return code == ErrorCode::TooMany || code == ErrorCode::Server ||
           code == ErrorCode::Unreachable || code == ErrorCode::Timeout;
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error)
      : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

inline Error invalid(std::string message) {
  return {ErrorCode::Invalid, std::move(message), 0, {}};
}

}  // namespace nobs
