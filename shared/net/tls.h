// Everything that decides whom we trust: contexts and sessions of client and server.
//
// Inside shared/net only. Contexts may be shared between threads.
#pragma once

#include <memory>
#include <string>

#include "shared/base/result.h"
#include "shared/net/client.h"
#include "shared/net/connection.h"

namespace nobs::net {

using SslContext = std::shared_ptr<ssl_ctx_st>;

// Reads the files and PEM texts of `tls`; Invalid says which of them is wrong.
Result<SslContext> client_context(const Tls& tls);
// True when the context must be made anew for each connection, because files may have been rotated.
bool reads_files(const Tls& tls);
// A session that accepts only a certificate for `name` (an IP address or a DNS name).
Result<SslPtr> client_session(const SslContext& context, const Tls& tls, const std::string& host);

Result<SslContext> server_context(const std::string& certificate_file, const std::string& key_file);
SslPtr server_session(const SslContext& context);

}  // namespace nobs::net
