// create, update, patch and delete: from a request's body to the object that is stored.
//
// Called by routes.cpp. Thread-safe: each write is one decision inside Store::write.
#pragma once

#include <string>

#include "tests/sim/api/store.h"

namespace nobs::sim {

struct WriteRequest {
  const Resource& resource;
  std::string ns, name;
  std::string subresource;   // "status" or empty
  std::string content_type;  // patches only, without parameters
  std::string body;
  std::string manager;
  std::string field_validation = "Warn";  // Warn, Strict, Ignore
  bool dry_run = false;

  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

Reply create(Store& store, const WriteRequest& request);
Reply update(Store& store, const WriteRequest& request);
Reply patch(Store& store, const WriteRequest& request);
Reply remove(Store& store, const WriteRequest& request);

// Past all rules: identity and version are filled in, nothing else.
Reply put_directly(Store& store, const Resource& resource, json::Value object);

}  // namespace nobs::sim
