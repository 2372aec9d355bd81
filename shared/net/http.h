// What an HTTP request and its answer are, for client and server alike.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nobs::net {

struct Headers {
  std::vector<std::pair<std::string, std::string>> list;

  void set(std::string name, std::string value);         // replaces, name compared without case
  const std::string* find(std::string_view name) const;  // first of that name, without case
  void remove(std::string_view name);                    // all of that name
  size_t count(std::string_view name) const;
};

// RFC 9110's words for the statuses that we answer; empty for others.
std::string_view reason_phrase(int status);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, already percent-encoded
  Headers headers;
  std::string body;
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
};

}  // namespace nobs::net
