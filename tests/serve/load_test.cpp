// Many clients, silent ones, and ones that leave: the server keeps working.
#include <fmt/format.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/raw_client.h"
#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::path_of;
using test::RawClient;
using test::Served;
using test::text_of;

std::string request(const Served& served, const std::string& path) {
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n"
      "Connection: close\r\n\r\n",
      path, served.server.port(), test::kToken);
}

std::string session_path(const Served& served, const std::string& text) {
  return path_of(served.open(text));
}

/// The path of a session whose pass has begun.
std::string begun_path(const Served& served, const std::string& text) {
  const auto posted =
      served.client().Post("/api/v1/sessions", json({{"text", text}}).dump(), "application/json");
  return "/api/v1/sessions/" + json::parse(posted->body)["session"].get<std::string>();
}

/// A client whose request is being worked on: the head of its answer is there.
RawClient at_work(const Served& served, const std::string& path) {
  RawClient client(served.server.port());
  client.send(request(served, path));
  EXPECT_TRUE(client.receive_head().starts_with("HTTP/1.1 200"));
  return client;
}

constexpr const char* kLongAnswer = "/self/0/edges?heads=0,1,2,3&end=512&at_most=8";
constexpr const char* kTestOfAFlow = "/self/effects?position=4095";  // runs the text many times

TEST(Server, Answers200ConnectionsAtOnce) {
  const Served served;
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 200; ++i)
    clients.emplace_back([&] {
      httplib::Client client = served.client();
      client.set_keep_alive(false);
      const auto answer = client.Get("/api/v1/models");
      if (answer && answer->status == 200) ++right;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 200);
}

TEST(Server, GoesOnBehind200ConnectionsThatSayNothingOrHalfOfARequest) {
  const Served served;
  std::vector<RawClient> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(served.server.port());
  for (int i = 0; i < 20; ++i) silent[static_cast<std::size_t>(i)].send("GET /api/mod");
  httplib::Client client = served.client();
  const auto answer = client.Get("/api/v1/models");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(Server, GoesOnWhenClientsLeaveInTheMiddle) {
  const Served served;
  const std::string path = session_path(served, text_of(590));
  for (int i = 0; i < 30; ++i) {
    httplib::Client client = served.client();
    client.Get(path + kLongAnswer, [](const char*, std::size_t) { return false; });
  }
  EXPECT_EQ(served.client().Get("/api/v1/models")->status, 200);
}

// The one worker is free again with less work than the answer takes.
TEST(Server, TheWorkForAClientThatIsGoneStops) {
  const Served served(test::served_options({.workers = 1}), test::long_model());
  const std::string path = path_of(served.open(text_of(4096), true));
  const double begin = test::cpu_seconds();
  ASSERT_EQ(served.client().Get(path + kTestOfAFlow, {{"Connection", "close"}})->status, 200);
  const double whole = test::cpu_seconds() - begin;
  for (const char* progress : {"", "&progress=1"}) {
    {
      const RawClient leaves = at_work(served, path + kTestOfAFlow + progress);
    }
    const double left = test::cpu_seconds();
    ASSERT_EQ(served.client().Get("/api/v1/models", {{"Connection", "close"}})->status, 200);
    EXPECT_LT(test::cpu_seconds() - left, whole / 2) << progress;
  }
}

TEST(Server, ANewerRequestOfTheSameViewEndsTheOlder) {
  const Served served(test::served_options(), test::long_model());
  const std::string path = session_path(served, text_of(4096));
  const RawClient older = at_work(served, path + kTestOfAFlow + "&view=arcs");
  EXPECT_EQ(served.client().Get(path + "/self/0/0/row/9?view=arcs")->status, 200);
  const std::string answer = older.receive();
  EXPECT_NE(answer.find(R"({"error":{"code":"replaced",)"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n0\r\n\r\n")) << "the answer did not end whole: " << answer;
}

TEST(Server, ANewerRequestOfTheSameViewDoesNotDisturbItself) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = session_path(served, text_of(90));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client.Get(path + fmt::format("/self/0/0/row/{}?view=hover", i))->status, 200);
}

TEST(ServerEvents, The17thStreamIsRefusedUntilAnotherEnds) {
  const Served served(test::served_options(), test::slow_model());
  const std::string path = begun_path(served, text_of(16384));
  std::atomic<int> open = 0, ended = 0;
  std::vector<std::thread> streams;
  for (int i = 0; i < 16; ++i)
    streams.emplace_back([&] {
      bool first = true;
      served.client().Get(path + "/events", [&](const char*, std::size_t) {
        open += std::exchange(first, false) ? 1 : 0;
        return true;
      });
      ++ended;
    });
  while (open < 16) std::this_thread::yield();
  const auto answer = served.client().Get(path + "/events");
  ASSERT_EQ(ended, 0);
  expect_error(answer, 503, "busy");
  EXPECT_EQ(answer->get_header_value("Retry-After"), "1");
  EXPECT_EQ(served.client().Delete(path)->status, 204);  // which ends the streams
  for (std::thread& stream : streams) stream.join();
  const std::string other = session_path(served, "the cat");
  EXPECT_EQ(served.client().Get(other + "/events")->status, 200);
}

// A server that waited for the stream's session would not be back before the pass has ended.
TEST(Server, StopsAtOnceWithStreamsOpen) {
  Served served(test::served_options(), test::slow_model());
  const std::string path = begun_path(served, text_of(16384));
  std::atomic<bool> open = false;
  std::thread stream([&] {
    served.client().Get(path + "/events", [&](const char*, std::size_t) { return open = true; });
  });
  while (!open) std::this_thread::yield();
  const double begin = test::cpu_seconds();
  served.server.stop();
  stream.join();
  EXPECT_LT(test::cpu_seconds() - begin, 3);
}

TEST(ServerWeights, MoreArcsThanOneAnswerMayHoldAreRefused) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = session_path(served, text_of(590));
  const auto answer = client.Get(path + "/self/0/edges?heads=0,1,2,3&end=512&at_most=64");
  expect_error(answer, 400, "bad_request");
  EXPECT_EQ(json::parse(answer->body)["error"]["message"],
            "edges: rows x heads x at_most is 131072, expected at most 65536 arcs at once");
}

}  // namespace
}  // namespace heed
