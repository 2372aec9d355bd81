#include "shared/kube/credentials.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <thread>

#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace nobs::kube {
namespace {

using test::Directory;

using namespace std::chrono_literals;

const std::string kVersion = "client.authentication.k8s.io/v1";

std::string credential(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":")" + kVersion + R"(","status":)" + status + "}";
}

// Prints a credential whose token is how often the script has run.
std::string counting_script(const Directory& directory, const std::string& expires) {
  return directory.script(
      "plugin",
      "n=$(cat " + directory.path() + "/runs 2>/dev/null || echo 0)\nn=$((n+1))\necho $n >" +
          directory.path() + "/runs\necho '" +
          credential(R"({"token":"t'$n'")" +
                     (expires.empty() ? "" : R"(,"expirationTimestamp":")" + expires + "\"") +
                     "}") +
          "'\n");
}

Config with_plugin(const std::string& command) {
  Config config;
  config.exec = {
      .api_version = kVersion, .command = command, .args = {}, .env = {}, .install_hint = ""};
  return config;
}

std::string token(const Result<Identity>& identity) {
  return identity ? identity->token : "error: " + identity.error().message;
}

Result<ExecCredential> run(const std::string& command, std::chrono::milliseconds limit = 10s) {
  return run_exec_plugin(with_plugin(command).exec, limit, {});
}

bool fails_with(const Result<ExecCredential>& result, ErrorCode code, const std::string& part) {
  if (result) return false;
  CAPTURE(result.error().message);
  CHECK(result.error().message.find(part) != std::string::npos);
  return result.error().code == code;
}

}  // namespace

TEST_CASE("a token file is looked at every ten seconds and its new content used") {
  const Directory directory;
  test::FakeClock clock;
  Config config;
  config.token_file = directory.file("token", "one\n");
  Credentials credentials(config, clock);
  CHECK(token(credentials.get({})) == "one");
  directory.file("token", "two\n");
  clock.advance(9s);
  CHECK(token(credentials.get({})) == "one");
  clock.advance(1s);
  CHECK(token(credentials.get({})) == "two");
}

TEST_CASE("after a 401 the token file is looked at at once") {
  const Directory directory;
  test::FakeClock clock;
  Config config;
  config.token_file = directory.file("token", "one");
  Credentials credentials(config, clock);
  const Identity first = *credentials.get({});
  CHECK(*credentials.renew(first, {}) == first);
  directory.file("token", "two");
  CHECK(token(credentials.renew(first, {})) == "two");
}

TEST_CASE(
    "a token file that vanishes leaves the old token in use, one that never was is an error") {
  const Directory directory;
  test::FakeClock clock;
  Config config;
  config.token_file = directory.file("token", "one");
  Credentials credentials(config, clock);
  CHECK(token(credentials.get({})) == "one");
  std::filesystem::remove(config.token_file);
  clock.advance(1min);
  CHECK(token(credentials.get({})) == "one");
  Credentials none(config, clock);
  CHECK(none.get({}).error().is_not_found());
}

TEST_CASE("a token that could split a header is refused, without being shown") {
  const Directory directory;
  test::FakeClock clock;
  for (const std::string text : {"secret\r\nEvil: 1", "secret more", "secret\x7f", "  \n", ""}) {
    Config config;
    config.token_file = directory.file("token", text);
    const auto identity = Credentials(config, clock).get({});
    REQUIRE_FALSE(identity);
    CHECK(identity.error().message.find(config.token_file) != std::string::npos);
    CHECK(identity.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("without any credential we are anonymous") {
  test::FakeClock clock;
  CHECK(token(Credentials(Config{}, clock).get({})).empty());
}

TEST_CASE("a plugin runs once until its credential expires") {
  const Directory directory;
  test::FakeClock clock;  // 2026-11-30T12:00:00Z
  Credentials credentials(with_plugin(counting_script(directory, "2026-11-30T12:10:00Z")), clock);
  CHECK(token(credentials.get({})) == "t1");
  clock.advance(9min);
  CHECK(token(credentials.get({})) == "t1");
  clock.advance(1min);
  CHECK(token(credentials.get({})) == "t2");
}

TEST_CASE("a 401 runs the plugin again, but only once for many threads that got it") {
  const Directory directory;
  test::FakeClock clock;
  Credentials credentials(with_plugin(counting_script(directory, "")), clock);
  const Identity refused = *credentials.get({});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { CHECK(token(credentials.renew(refused, {})) == "t2"); });
    }
  }
  CHECK(token(credentials.get({})) == "t2");
}

TEST_CASE("a plugin gets what it is told: arguments, environment, no input") {
  const Directory directory;
  auto exec = with_plugin(directory.script(
                              "plugin",
                              "read line && exit 9\n[ \"$1 $2\" = 'a b c' ] || exit 8\n"
                              "[ \"$COLOUR\" = blue ] || exit 7\n[ $(tr '\\0' '\\n' "
                              "</proc/$$/environ | grep -c ^COLOUR=) = 1 ] || exit 5\n"
                              "case \"$KUBERNETES_EXEC_INFO\" in *\"interactive\\\":false\"*) ;; "
                              "*) exit 6;; esac\necho '" +
                                  credential(R"({"token":"x"})") + "'\n"))
                  .exec;
  exec.args = {"a", "b c"};
  exec.env = {{"COLOUR", "blue"}};
  ::setenv("COLOUR", "red", 1);
  const auto result = run_exec_plugin(exec, 10s, {});
  ::unsetenv("COLOUR");
  REQUIRE_MESSAGE(result, result.error().message);
  CHECK(result->token == "x");
}

TEST_CASE("a plugin that is absent, fails or prints nonsense is told with what it said") {
  const Directory directory;
  auto exec = with_plugin("/no/such/plugin").exec;
  exec.install_hint = "Install the tool.";
  CHECK(fails_with(run_exec_plugin(exec, 1s, {}), ErrorCode::Invalid, "Install the tool."));
  CHECK(fails_with(run(directory.script("a", "echo 'no login' >&2\nexit 3\n")),
                   ErrorCode::Unauthorized, "ended with code 3: no login"));
  CHECK(fails_with(run(directory.script("b", "kill -9 $$\n")), ErrorCode::Unauthorized,
                   "ended by signal 9"));
  CHECK(fails_with(run(directory.script("c", "echo hello\n")), ErrorCode::Invalid, "not JSON"));
  CHECK(fails_with(run(directory.script("d", "exit 0\n")), ErrorCode::Invalid, "not JSON"));
}

TEST_CASE(
    "a plugin that never ends is killed with its children, also when its child keeps the pipe") {
  const Directory directory;
  const auto before = std::chrono::steady_clock::now();
  const std::string stuck =
      directory.script("stuck", "sleep 100 &\necho $! >" + directory.path() + "/pid\nwait\n");
  CHECK(fails_with(run(stuck, 300ms), ErrorCode::Timeout, "300 ms"));
  const pid_t child = std::stoi(*read_file(directory.path() + "/pid", 100));
  // Dead, or a zombie that init has not reaped yet.
  CHECK(test::eventually(5s, [&] {
    const auto stat = read_file("/proc/" + std::to_string(child) + "/stat", 1000);
    return !stat || stat->find(") Z ") != std::string::npos;
  }));
  const std::string leaves_child =
      directory.script("leaves", "sleep 100 &\necho '" + credential(R"({"token":"x"})") + "'\n");
  CHECK(run(leaves_child, 20s));
  CHECK(std::chrono::steady_clock::now() - before < 15s);
}

TEST_CASE("stop ends a running plugin") {
  const Directory directory;
  std::stop_source stop;
  std::jthread later([&] {
    CHECK(test::eventually(5s, [&] { return std::filesystem::exists(directory.path() + "/up"); }));
    stop.request_stop();
  });
  const auto exec =
      with_plugin(directory.script("p", ">" + directory.path() + "/up\nsleep 100\n")).exec;
  const auto result = run_exec_plugin(exec, 30s, stop.get_token());
  REQUIRE_FALSE(result);
  CHECK(result.error().is_stopped());
}

TEST_CASE("a plugin that prints without end is stopped at 1 MiB, its complaints are not kept") {
  const Directory directory;
  CHECK(fails_with(run(directory.script("p", "yes\n"), 20s), ErrorCode::Invalid, "1 MiB"));
  const auto noisy = directory.script(
      "q", "head -c 3000000 /dev/zero >&2\necho '" + credential(R"({"token":"x"})") + "'\n");
  CHECK(run(noisy, 20s));
}

TEST_CASE("a credential is read with its certificate and expiry, or refused with the reason") {
  const auto full = parse_exec_credential(
      credential(R"({"token":"t","clientCertificateData":"c","clientKeyData":"k",)"
                 R"("expirationTimestamp":"1970-01-01T00:01:00Z"})"),
      kVersion);
  REQUIRE(full);
  CHECK(full->certificate_pem == "c");
  CHECK(full->key_pem == "k");
  CHECK(full->expires == WallTime(60s));
  CHECK_FALSE(parse_exec_credential(credential(R"({"token":"t"})"), kVersion)->expires);
  const auto message = [](const std::string& text) {
    const auto result = parse_exec_credential(text, kVersion);
    return result ? "no problem" : result.error().message;
  };
  CHECK(message(credential("{}")).find("neither a token") != std::string::npos);
  CHECK(message(credential(R"({"clientKeyData":"k"})")).find("only one of") != std::string::npos);
  CHECK(message(credential(R"({"token":"t","expirationTimestamp":"soon"})"))
            .find("expirationTimestamp") != std::string::npos);
  CHECK(message(R"({"kind":"Pod"})").find("\"Pod\"") != std::string::npos);
  CHECK(message(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})")
            .find("v1beta1") != std::string::npos);
}

}  // namespace nobs::kube
