#include "shared/net/tls.h"

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/unit/net/certificates.h"
#include "tests/unit/net/raw.h"

using namespace nobs;
using namespace nobs::net;
using namespace std::chrono_literals;
using nobs::test::Directory;
using nobs::test::eventually;
using nobs::test::Identity;
using nobs::test::issue;
using nobs::test::RawServer;
using nobs::test::Talk;

namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const Identity& authority() {
  static const Identity identity = issue({.common_name = "authority", .authority = true});
  return identity;
}

SslContext context_of(const Identity& identity) {
  const Directory files;
  auto context =
      server_context(files.file("c", identity.certificate), files.file("k", identity.key));
  REQUIRE(context);
  return *context;
}

void answers(Talk& talk, int /*number*/) {
  while (!talk.request().empty()) talk.send(kOk);
}

// "" when a request to a server with this certificate succeeds, else the error's message.
std::string verdict(const Identity& identity, const Tls& tls) {
  RawServer server(answers, context_of(identity));
  auto endpoint = server.endpoint();
  endpoint.tls = tls;
  const auto answer = Client(endpoint).send({}, {}, {});
  return answer ? "" : answer.error().message;
}

std::string verdict(const test::Subject& subject, const std::string& server_name = "") {
  return verdict(issue(subject, &authority()),
                 {.ca_pem = authority().certificate, .server_name = server_name});
}

bool mentions(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a certificate for the address or name is accepted") {
  CHECK(verdict({.alternative_names = "IP:127.0.0.1"}) == "");
  CHECK(verdict({.alternative_names = "DNS:kubernetes.default"}, "kubernetes.default") == "");
  CHECK(verdict({.alternative_names = "DNS:kubernetes.default"}, "kubernetes.default.") == "");
  CHECK(verdict({.alternative_names = "DNS:*.eks.example"}, "x.eks.example") == "");
}

TEST_CASE("an address is not matched by an IPv6 prefix, a common name or a wildcard in it") {
  for (const test::Subject& subject : {test::Subject{.alternative_names = "IP:7f00:1::1"},
                                       {.common_name = "127.0.0.1"},
                                       {.common_name = "127.0.0.*"},
                                       {.alternative_names = "DNS:127.0.0.1"},
                                       {.alternative_names = "IP:127.0.0.2"}}) {
    CAPTURE(subject.common_name);
    CAPTURE(subject.alternative_names);
    CHECK(mentions(verdict(subject), "IP address mismatch"));
  }
}

TEST_CASE("a name is matched by alternative names only, and not by partial wildcards") {
  for (const test::Subject& subject : {test::Subject{.common_name = "api.eks.example"},
                                       {.alternative_names = "DNS:other.eks.example"},
                                       {.alternative_names = "DNS:a*.eks.example"},
                                       {.alternative_names = "IP:127.0.0.1"}}) {
    CAPTURE(subject.common_name);
    CAPTURE(subject.alternative_names);
    CHECK(mentions(verdict(subject, "api.eks.example"), "hostname mismatch"));
  }
}

TEST_CASE("with an authority of our own the system's are not trusted, without one they are") {
  const Directory files;
  const Identity system = issue({.common_name = "public", .authority = true});
  ::setenv("SSL_CERT_FILE", files.file("system.pem", system.certificate).c_str(), 1);
  ::setenv("SSL_CERT_DIR", files.path("none").c_str(), 1);
  const Identity server = issue({.alternative_names = "IP:127.0.0.1"}, &system);
  CHECK(mentions(verdict(server, {.ca_pem = authority().certificate}), "certificate"));
  CHECK(mentions(verdict(server, {.ca_file = files.file("ca.pem", authority().certificate)}),
                 "certificate"));
  CHECK(verdict(server, Tls{}) == "");
  ::unsetenv("SSL_CERT_FILE");
  ::unsetenv("SSL_CERT_DIR");
  CHECK(mentions(verdict(server, Tls{}), "certificate"));
  CHECK(verdict(server, {.insecure = true}) == "");
}

TEST_CASE("an intermediate that we were given is trusted without its root, as Go does") {
  const Identity middle = issue({.common_name = "middle", .authority = true}, &authority());
  CHECK(verdict(issue({.alternative_names = "IP:127.0.0.1"}, &middle),
                {.ca_pem = middle.certificate}) == "");
}

TEST_CASE("files are read anew for each connection, because certificates rotate") {
  const Directory files;
  RawServer server(
      [](Talk& talk, int) {
        talk.request();
        talk.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
      },
      context_of(issue({.alternative_names = "IP:127.0.0.1"}, &authority())));
  auto endpoint = server.endpoint();
  endpoint.tls = Tls{
      .ca_file = files.file("ca", issue({.common_name = "old", .authority = true}).certificate)};
  Client client(endpoint);
  CHECK_FALSE(client.send({}, {}, {}));
  files.file("ca", authority().certificate);
  CHECK(client.send({}, {}, {}));
  std::filesystem::remove(files.path("ca"));
  const auto answer = client.send({}, {}, {});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::Invalid);
  CHECK(mentions(answer.error().message, files.path("ca").c_str()));
}

TEST_CASE("a client certificate is sent with its chain, from text and from files") {
  const Identity middle = issue({.common_name = "middle", .authority = true}, &authority());
  const Identity person = issue({.common_name = "alice"}, &middle);
  auto context = context_of(issue({.alternative_names = "IP:127.0.0.1"}, &authority()));
  const Directory files;
  SSL_CTX_load_verify_file(context.get(), files.file("root", authority().certificate).c_str());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  RawServer server(answers, context);
  const auto send = [&](Tls tls) {
    tls.ca_pem = authority().certificate;
    auto endpoint = server.endpoint();
    endpoint.tls = tls;
    return Client(endpoint).send({}, {}, {});
  };
  const std::string chain = person.certificate + middle.certificate;
  CHECK(send({.certificate_pem = chain, .key_pem = person.key}));
  CHECK(
      send({.certificate_file = files.file("c", chain), .key_file = files.file("k", person.key)}));
  CHECK_FALSE(send({.certificate_pem = person.certificate, .key_pem = person.key}));
  CHECK_FALSE(send({}));
}

TEST_CASE(
    "material that cannot be used is said to be invalid, without asking anybody for a password") {
  const auto code = [](const Tls& tls) {
    const auto context = client_context(tls);
    return context ? ErrorCode::Stopped : context.error().code;
  };
  const Identity one = issue({}), other = issue({});
  const Directory files;
  CHECK(code({.ca_pem = "nonsense"}) == ErrorCode::Invalid);
  CHECK(code({.ca_file = files.file("empty", "")}) == ErrorCode::Invalid);
  CHECK(code({.certificate_pem = one.certificate, .key_pem = other.key}) == ErrorCode::Invalid);
  CHECK(code({.certificate_pem = one.certificate}) == ErrorCode::Invalid);
  // A key of another kind (the Ed25519 example of RFC 8410) goes unnoticed by OpenSSL until asked.
  CHECK(code({.certificate_pem = one.certificate,
              .key_pem = "-----BEGIN PRIVATE KEY-----\n"
                         "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                         "-----END PRIVATE KEY-----\n"}) == ErrorCode::Invalid);
  const std::string locked = test::encrypted_key(one, "secret");
  CHECK(code({.certificate_pem = one.certificate, .key_pem = locked}) == ErrorCode::Invalid);
  CHECK(code({.certificate_file = files.file("c", one.certificate),
              .key_file = files.file("k", locked)}) == ErrorCode::Invalid);
}

TEST_CASE("over TLS a body without a length is whole only when the peer said that it ended") {
  const auto context = context_of(issue({.alternative_names = "IP:127.0.0.1"}, &authority()));
  for (const bool says_goodbye : {true, false}) {
    RawServer server(
        [=](Talk& talk, int) {
          talk.request();
          talk.send("HTTP/1.1 200 OK\r\n\r\nall or half");
          if (says_goodbye) talk.close_write();
        },
        context);
    auto endpoint = server.endpoint();
    endpoint.tls = Tls{.ca_pem = authority().certificate};
    CHECK(static_cast<bool>(Client(endpoint).send({}, {}, {})) == says_goodbye);
  }
}

TEST_CASE("a TLS connection that a server closed while it was idle is not used again") {
  std::atomic<int> closed{0};
  RawServer server(
      [&](Talk& talk, int) {
        talk.request();
        talk.send(kOk);
        talk.close_write();  // close_notify and FIN, as Go's servers do after 90 s
        ++closed;
        talk.rest();
      },
      context_of(issue({.alternative_names = "IP:127.0.0.1"}, &authority())));
  auto endpoint = server.endpoint();
  endpoint.tls = Tls{.ca_pem = authority().certificate};
  Client client(endpoint);
  for (int i = 1; i <= 3; ++i) {
    CHECK(client.send({.method = "POST"}, {}, {}));
    REQUIRE(eventually(10s, [&] { return closed == i; }));
  }
}

TEST_CASE("TLS calls share a connection too, with the server's session tickets on it") {
  auto context = context_of(issue({.alternative_names = "IP:127.0.0.1"}, &authority()));
  SSL_CTX_set_num_tickets(context.get(), 2);
  RawServer server(answers, context);
  auto endpoint = server.endpoint();
  endpoint.tls = Tls{.ca_pem = authority().certificate};
  Client client(endpoint);
  for (int i = 0; i < 5; ++i) CHECK(client.send({}, {}, {}));
  CHECK(server.connections() == 1);
}
