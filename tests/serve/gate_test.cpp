// Which requests are allowed, and the answers to others.
#include "serve/gate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "serve/api.h"
#include "serve/raw_client.h"
#include "serve/route.h"
#include "serve/served.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::expect_error;
using test::RawClient;
using test::Served;

// `heed-8321=...`, as the printed address sets it.
std::string cookie_of(const Served& served) {
  const auto answer = served.client(false).Get("/?token=" + test::kToken);
  const std::string all = answer ? answer->get_header_value("Set-Cookie") : "";
  return all.substr(0, all.find(';'));
}

TEST(ServerGate, TheTokenInTheAddressBecomesACookieAndIsNoLongerInTheAddress) {
  const Served served;
  httplib::Client client = served.client(false);
  const auto answer = client.Get("/?token=" + test::kToken);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(answer->get_header_value("Location"), "/");
  EXPECT_THAT(
      answer->get_header_value("Set-Cookie"),
      testing::MatchesRegex(fmt::format("heed-{}=[0-9a-f]{{32}}; Path=/; HttpOnly; SameSite=Strict",
                                        served.server.port())));
}

TEST(ServerGate, TheCookieOpensTheApi) {
  const Served served;
  httplib::Client client = served.client(false);
  const std::string own = cookie_of(served);
  EXPECT_EQ(client.Get("/api/v1/models", {{"Cookie", "a=1; " + own}})->status, 200);
  const std::string other = "heed-1" + own.substr(own.find('='));
  EXPECT_EQ(client.Get("/api/v1/models", {{"Cookie", other}})->status, 401);
}

TEST(ServerGate, TheCookieIsASecretOfThisRunAndNotTheToken) {
  const Served served, later;
  const std::string own = cookie_of(served);
  const std::string secret = own.substr(own.find('=') + 1);
  EXPECT_NE(secret, test::kToken);
  EXPECT_NE(cookie_of(later).substr(own.find('=') + 1), secret);
  httplib::Client client = served.client(false);
  const std::string port = std::to_string(served.server.port());
  expect_error(client.Get("/api/v1/models", {{"Cookie", "heed-" + port + "=" + test::kToken}}), 401,
               "unauthorized");
  expect_error(client.Get("/api/v1/models", {{"Authorization", "Bearer " + secret}}), 401,
               "unauthorized");
  expect_error(client.Get("/?token=" + secret), 401, "unauthorized");
}

TEST(ServerGate, TheApiIsNotForOtherSites) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* site : {"same-origin", "none"})
    EXPECT_EQ(client.Get("/api/v1/models", {{"Sec-Fetch-Site", site}})->status, 200) << site;
  for (const char* site : {"cross-site", "same-site", "", "none, none"}) {
    expect_error(client.Get("/api/v1/models", {{"Sec-Fetch-Site", site}}), 403, "forbidden");
    expect_error(served.client().Post("/api/v1/sessions", {{"Sec-Fetch-Site", site}},
                                      R"({"text":"a"})", "application/json"),
                 403, "forbidden");
  }
}

TEST(ServerGate, ALinkToThePageMayStandAnywhere) {
  const Served served;
  httplib::Client client = served.client(false);
  const httplib::Headers link = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}};
  EXPECT_EQ(client.Get("/", link)->status, 200);
  EXPECT_EQ(client.Get("/?token=" + test::kToken, link)->status, 303);
  expect_error(client.Get("/app.js", link), 403, "forbidden");
  expect_error(client.Get("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}),
               403, "forbidden");
}

TEST(ServerGate, OnPort80HostAndOriginHaveNoPort) {
  const serve::Gate gate("127.0.0.1", 80, test::kToken);
  for (const char* host : {"localhost", "127.0.0.1", "[::1]", "localhost:80"})
    EXPECT_NO_THROW(gate.check_origin({{"Host", host}, {"Origin", std::string("http://") + host}}))
        << host;
  for (const char* host : {"evil.example", "localhost:8321", "", ":80"})
    EXPECT_THROW(gate.check_origin({{"Host", host}}), serve::Refused) << host;
  EXPECT_THROW(serve::Gate("127.0.0.1", 8321, test::kToken).check_origin({{"Host", "localhost"}}),
               serve::Refused);
}

TEST(ServerGate, AMissingOrWrongTokenIsRefusedOnEveryPathOfTheApi) {
  const Served served;
  httplib::Client client = served.client(false);
  for (const char* path : {"/api/v1/models", "/api/v1/sessions/1", "/api/nothing", "/api/"}) {
    expect_error(client.Get(path), 401, "unauthorized");
    expect_error(client.Get(path, {{"Authorization", "Bearer " + std::string(32, 'b')}}), 401,
                 "unauthorized");
  }
  expect_error(client.Get("/?token=wrong"), 401, "unauthorized");
  expect_error(client.Get(fmt::format("/?token={}&token=x", test::kToken)), 401, "unauthorized");
  httplib::Client other = served.client(false);
  expect_error(other.Post("/api/v1/sessions", R"({"text":"a"})", "application/json"), 401,
               "unauthorized");
}

TEST(ServerGate, AForeignHostOrOriginIsRefused) {
  const Served served;
  httplib::Client client = served.client();
  const std::string port = std::to_string(served.server.port());
  for (const std::string& host : {std::string("evil.example:") + port, std::string("evil.example"),
                                  std::string("192.168.1.9:") + port,
                                  "127.0.0.1.evil.example:" + port, std::string("localhost:1")})
    expect_error(client.Get("/api/v1/models", {{"Host", host}}), 403, "forbidden");
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1"})
    expect_error(client.Get("/api/v1/models", {{"Origin", origin}}), 403, "forbidden");
  EXPECT_EQ(client
                .Get("/api/v1/models",
                     {{"Host", "localhost:" + port}, {"Origin", "http://localhost:" + port}})
                ->status,
            200);
}

TEST(ServerGate, EveryAnswerCarriesThePolicyThatKeepsScriptsOut) {
  const Served served;
  httplib::Client client = served.client();
  for (const char* path : {"/", "/api/v1/models", "/api/nothing"}) {
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
  expect_error(client.Delete("/api/v1/models"), 405, "bad_request");
}

// Status and `Allow` of what the server says to a request without body or length; empty where it
// waits for more.
std::string answer_to(const Served& served, const std::string& method, const std::string& path) {
  const RawClient client(served.server.port());
  client.send(
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n"
                  "Connection: close\r\n\r\n",
                  method, path, served.server.port(), test::kToken));
  const std::string answer = client.receive();
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
  for (const serve::Route& route : serve::api_routes()) {
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
  EXPECT_EQ(answer_to(served, "POST", "/api/v1/sessions"), "400 ");
}

TEST(Server, APortInUseIsOneLine) {
  const Served served;
  ServerOptions options = test::served_options();
  options.port = served.server.port();
  EXPECT_HEED_ERROR(
      Server(test::shared_model(), options), ErrorCode::kInvalidArgument,
      fmt::format(
          "serve: port is {}, which is in use, expected another one, or 0 for one that is free",
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

}  // namespace
}  // namespace heed
