#include "shared/net/http.h"

#include <strings.h>

#include <algorithm>

namespace nobs::net {

namespace {

bool same_name(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace

void Headers::set(std::string name, std::string value) {
  remove(name);
  list.emplace_back(std::move(name), std::move(value));
}

const std::string* Headers::find(std::string_view name) const {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const auto& entry) { return same_name(entry.first, name); });
  return found == list.end() ? nullptr : &found->second;
}

void Headers::remove(std::string_view name) {
  std::erase_if(list, [&](const auto& entry) { return same_name(entry.first, name); });
}

size_t Headers::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(
      list.begin(), list.end(), [&](const auto& entry) { return same_name(entry.first, name); }));
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

}  // namespace nobs::net
