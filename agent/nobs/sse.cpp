#include "agent/nobs/sse.h"

#include <algorithm>

namespace nobs::cli {

bool SseReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    inbox_ += piece.substr(0, end);
    if (inbox_.size() + event_.data.size() > kMaxEvent) return false;
    if (end == std::string_view::npos) return true;
    piece.remove_prefix(end + 1);
    if (inbox_.ends_with('\r')) inbox_.pop_back();
    line(inbox_);
    inbox_.clear();
  }
  return true;
}

void SseReader::line(std::string_view line) {
  if (line.empty()) {
    if (has_data_) on_event_(event_);
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  const auto field = line.substr(0, colon);
  auto value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "id") {
    event_.id = value;
  } else if (field == "event") {
    event_.name = value;
  }
}

}  // namespace nobs::cli
