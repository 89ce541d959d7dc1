// Who is let in, and what the rest is told.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "io/atomic_file.h"
#include "serve/api.h"
#include "serve/raw_client.h"
#include "serve/served.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::expect_error;
using test::RawClient;
using test::Served;

TEST(ServerGate, TheTokenInTheAddressBecomesACookieAndIsNoLongerInTheAddress) {
  const Served served;
  httplib::Client client = served.client(false);
  const auto answer = client.Get("/?token=" + test::kToken);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(answer->get_header_value("Location"), "/");
  EXPECT_EQ(answer->get_header_value("Set-Cookie"),
            fmt::format("heed-{}={}; Path=/; HttpOnly; SameSite=Strict", served.server.port(),
                        test::kToken));
}

TEST(ServerGate, TheCookieOpensTheApi) {
  const Served served;
  httplib::Client client = served.client(false);
  const std::string own = fmt::format("heed-{}={}", served.server.port(), test::kToken);
  EXPECT_EQ(client.Get("/api/model", {{"Cookie", "a=1; " + own}})->status, 200);
  EXPECT_EQ(client.Get("/api/model", {{"Cookie", "heed-1=" + test::kToken}})->status, 401);
}

TEST(ServerGate, AMissingOrWrongTokenIsRefusedOnEveryPathOfTheApi) {
  const Served served;
  httplib::Client client = served.client(false);
  for (const char* path : {"/api/model", "/api/sessions/1", "/api/nothing", "/api/"}) {
    expect_error(client.Get(path), 401, "unauthorized");
    expect_error(client.Get(path, {{"Authorization", "Bearer " + std::string(32, 'b')}}), 401,
                 "unauthorized");
  }
  expect_error(client.Get("/?token=wrong"), 401, "unauthorized");
  httplib::Client other = served.client(false);
  expect_error(other.Post("/api/sessions", R"({"text":"a"})", "application/json"), 401,
               "unauthorized");
}

TEST(ServerGate, AForeignHostOrOriginIsRefused) {
  const Served served;
  httplib::Client client = served.client();
  const std::string port = std::to_string(served.server.port());
  for (const std::string& host : {std::string("evil.example:") + port, std::string("evil.example"),
                                  std::string("192.168.1.9:") + port,
                                  "127.0.0.1.evil.example:" + port, std::string("localhost:1")})
    expect_error(client.Get("/api/model", {{"Host", host}}), 403, "forbidden");
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1"})
    expect_error(client.Get("/api/model", {{"Origin", origin}}), 403, "forbidden");
  EXPECT_EQ(client
                .Get("/api/model",
                     {{"Host", "localhost:" + port}, {"Origin", "http://localhost:" + port}})
                ->status,
            200);
}

TEST(ServerGate, EveryAnswerCarriesThePolicyThatKeepsScriptsOut) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* path : {"/", "/api/model", "/api/nothing"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(
        answer->get_header_value("Content-Security-Policy").starts_with("default-src 'self'"));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer");
  }
}

TEST(ServerGate, UnknownPathsAndMethodsHaveTheirStatus) {
  const Served served;
  httplib::Client client = served.client();
  expect_error(client.Get("/api/nothing"), 404, "not_found");
  expect_error(client.Get("/etc/passwd"), 404, "not_found");
  expect_error(client.Get("/../../etc/passwd"), 404, "not_found");
  expect_error(client.Delete("/api/model"), 405, "bad_request");
}

// Status and `Allow` of what the server says to a request without body or length; empty where it
// waits for more.
std::string answer_to(const Served& served, const std::string& method, const std::string& path) {
  const RawClient client(served.server.port());
  client.send(
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n"
                  "Connection: close\r\n\r\n",
                  method, path, served.server.port(), test::kToken));
  const std::string answer = client.receive(2);
  static const std::regex allow("\r\nAllow: ([^\r]*)\r\n");
  std::smatch found;
  const std::string allowed = std::regex_search(answer, found, allow) ? found[1].str() : "";
  return fmt::format("{} {}", answer.substr(std::min<std::size_t>(answer.size(), 9), 3), allowed);
}

TEST(ServerGate, AMethodThatAPathDoesNotAnswerIsToldWhichItDoes) {
  const Served served;
  const std::vector<std::string> methods = {"GET",   "HEAD",    "POST",  "PUT",    "DELETE",
                                            "PATCH", "OPTIONS", "TRACE", "CONNECT"};
  std::map<std::string, std::string> allowed = {{"/", "GET, HEAD"}, {"/app.js", "GET, HEAD"}};
  for (const server::Route& route : server::api_routes()) {
    const std::string method = route.method;
    std::string& of = allowed[std::regex_replace(route.pattern, std::regex(R"(\{\w+\})"), "0")];
    of += (of.empty() ? "" : ", ") + (method == "GET" ? "GET, HEAD" : method);
  }
  for (const auto& [path, answered] : allowed) {
    for (const std::string& method : methods) {
      if (answered.find(method) != std::string::npos) continue;
      EXPECT_EQ(answer_to(served, method, path), "405 " + answered) << method << ' ' << path;
    }
  }
}

TEST(ServerGate, ARequestWithoutLengthHasNoBodyAndIsAnsweredAtOnce) {
  const Served served;
  EXPECT_EQ(answer_to(served, "POST", "/api/sessions"), "400 ");
}

TEST(Server, APortInUseIsOneLine) {
  const Served served;
  ServerOptions options = test::served_options();
  options.port = served.server.port();
  EXPECT_HEED_ERROR(
      Server(test::shared_model(), options), ErrorCode::kInvalidArgument,
      fmt::format("serve: port {} is in use: choose another with --port, 0 takes one that is free",
                  options.port));
}

// How much more memory this process may map, until the end of the scope.
class MappedAtMost {
 public:
  explicit MappedAtMost(rlim_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more;
    const rlimit less{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &less);
  }
  ~MappedAtMost() { ::setrlimit(RLIMIT_AS, &before_); }
  MappedAtMost(const MappedAtMost&) = delete;
  MappedAtMost& operator=(const MappedAtMost&) = delete;

 private:
  rlimit before_{};
};

TEST(Server, ThreadsThatTheSystemDoesNotGiveAreOneLine) {
  ServerOptions options = test::served_options();
  options.limits.workers = 20000;
  test::shared_model();
  const MappedAtMost limited(rlim_t{256} << 20);
  EXPECT_HEED_ERROR(Server(test::shared_model(), options), ErrorCode::kIo,
                    "serve: cannot start 20000 threads: Resource temporarily unavailable");
}

TEST(Server, ItsAddressHoldsPortAndToken) {
  const Served served;
  EXPECT_EQ(served.server.address(),
            fmt::format("http://127.0.0.1:{}/?token={}", served.server.port(), test::kToken));
}

class ServerToken : public testing::Test {
 protected:
  ServerToken() { setenv("XDG_STATE_HOME", scratch_.folder().c_str(), 1); }
  ~ServerToken() override { unsetenv("XDG_STATE_HOME"); }

  const test::Scratch scratch_;
  const std::filesystem::path file_ = scratch_ / "heed/token";
};

TEST_F(ServerToken, IsKeptForTheUserAlone) {
  const std::string token = server_token(false);
  EXPECT_EQ(token.size(), 32);
  EXPECT_EQ(server_token(false), token);
  EXPECT_EQ(read_file(file_), token + "\n");
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

TEST_F(ServerToken, IsAnotherOneOnDemandAndStays) {
  const std::string token = server_token(false);
  const std::string renewed = server_token(true);
  EXPECT_NE(renewed, token);
  EXPECT_EQ(server_token(false), renewed);
}

TEST_F(ServerToken, IsAnotherOneWhereItsFileWasDeleted) {
  const std::string token = server_token(false);
  std::filesystem::remove(file_);
  EXPECT_NE(server_token(false), token);
}

TEST_F(ServerToken, IsAnotherOneWhereOthersMayReadIt) {
  const std::string token = server_token(false);
  std::filesystem::permissions(file_, std::filesystem::perms(0644));
  const std::string fresh = server_token(false);
  EXPECT_NE(fresh, token);
  EXPECT_EQ(server_token(false), fresh);
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace heed
