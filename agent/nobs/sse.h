// Server-sent events taken out of a stream of bytes (WHATWG HTML, "server-sent events"). Not thread-safe; bounded.
//
//   SseReader reader([&](const SseEvent& event) { ... });
//   if (!reader.feed(piece)) give_up();
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nobs::cli {

struct SseEvent {
  std::string name, id, data;  // id: the last one seen, also when this event had none
};

class SseReader {
 public:
  static constexpr size_t kMaxEvent = 1U << 20;

  explicit SseReader(std::function<void(const SseEvent&)> on_event)
      : on_event_(std::move(on_event)) {}

  // False: an event is larger than kMaxEvent.
  bool feed(std::string_view piece);

 private:
  void line(std::string_view line);

  std::function<void(const SseEvent&)> on_event_;
  std::string inbox_;
  SseEvent event_;
  bool has_data_ = false;
};

}  // namespace nobs::cli
