// Who is let in, and what the rest is told.
#include <sys/stat.h>

#include <cstdlib>

#include "inspect/served.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::expect_error;
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

TEST(Server, APortInUseIsOneLine) {
  const Served served;
  ServerOptions options = test::served_options();
  options.port = served.server.port();
  EXPECT_HEED_ERROR(
      Server(test::shared_model(), options), ErrorCode::kInvalidArgument,
      fmt::format("serve: port {} is in use: choose another with --port, 0 takes one that is free",
                  options.port));
}

TEST(Server, ItsAddressHoldsPortAndToken) {
  const Served served;
  EXPECT_EQ(served.server.address(),
            fmt::format("http://127.0.0.1:{}/?token={}", served.server.port(), test::kToken));
}

TEST(ServerToken, IsKeptForTheUserAloneAndRenewedOnDemand) {
  const test::Scratch scratch;
  setenv("XDG_STATE_HOME", scratch.folder().c_str(), 1);
  const std::string token = server_token(false);
  EXPECT_EQ(token.size(), 32);
  EXPECT_EQ(server_token(false), token);
  const std::string renewed = server_token(true);
  EXPECT_NE(renewed, token);
  EXPECT_EQ(server_token(false), renewed);
  struct stat found{};
  ASSERT_EQ(stat((scratch / "heed/token").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600);
  unsetenv("XDG_STATE_HOME");
}

}  // namespace
}  // namespace heed
