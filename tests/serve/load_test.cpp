// Many clients, silent ones, and those that leave: the server goes on.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
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
using test::RawClient;
using test::Served;
using test::text_of;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string request(const Served& served, const std::string& path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n\r\n",
                     path, served.server.port(), test::kToken);
}

std::string session_path(const Served& served, const std::string& text) {
  return "/api/v1/sessions/" + served.open(text)["session"].get<std::string>();
}

constexpr const char* kLongAnswer = "/self/0/edges?heads=0,1,2,3&end=512&at_most=8";

TEST(Server, Answers200ConnectionsAtOnce) {
  const Served served;
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 200; ++i)
    clients.emplace_back([&] {
      httplib::Client client = served.client();
      client.set_keep_alive(false);
      client.set_read_timeout(60);
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
  client.set_read_timeout(60);
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

// The one worker is free again long before the answer would have been there.
TEST(Server, TheWorkForAClientThatIsGoneStops) {
  const Served served(test::served_options({.workers = 1}), test::long_model());
  const std::string path = session_path(served, text_of(4096));
  auto begin = Clock::now();
  ASSERT_EQ(served.client().Get(path + kLongAnswer)->status, 200);
  const double whole = seconds_since(begin);
  double least = whole;
  for (int tries = 0; tries < 20 && least > whole / 2; ++tries) {
    {
      RawClient(served.server.port()).send(request(served, path + kLongAnswer));
    }
    begin = Clock::now();
    httplib::Client next = served.client();
    ASSERT_EQ(next.Get("/api/v1/models", {{"Connection", "close"}})->status, 200);
    least = std::min(least, seconds_since(begin));
  }
  EXPECT_LT(least, whole / 2);
}

TEST(Server, ANewerRequestOfTheSameViewEndsTheOlder) {
  const Served served(test::served_options(), test::long_model());
  const std::string path = session_path(served, text_of(4096));
  bool ended = false;
  for (int tries = 0; tries < 20 && !ended; ++tries) {
    std::atomic<bool> over = false;
    std::thread older([&] {
      const auto answer = served.client().Get(path + kLongAnswer + "&view=arcs");
      ended = !answer;  // the connection closed before the answer was whole
      over = true;
    });
    while (!over) {
      const auto row = served.client().Get(path + "/self/0/0/row/9?view=arcs");
      if (row) {  // else the long one came in between and ended this one
        EXPECT_EQ(row->status, 200);
      }
    }
    older.join();
  }
  EXPECT_TRUE(ended);
}

TEST(Server, ANewerRequestOfTheSameViewDoesNotDisturbItself) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = session_path(served, text_of(90));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client.Get(path + fmt::format("/self/0/0/row/{}?view=hover", i))->status, 200);
}

TEST(ServerEvents, The17thStreamIsRefusedUntilAnotherEnds) {
  const Served served(test::served_options(), test::long_model());
  const std::string path = session_path(served, text_of(4096));  // its statistics take a while
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
  ASSERT_EQ(ended, 0) << "the session was done before the 17th stream came";
  expect_error(answer, 503, "busy");
  EXPECT_EQ(answer->get_header_value("Retry-After"), "1");
  EXPECT_EQ(served.client().Delete(path)->status, 204);  // which ends the streams
  for (std::thread& stream : streams) stream.join();
  const std::string other = session_path(served, "the cat");
  EXPECT_EQ(served.client().Get(other + "/events")->status, 200);
}

TEST(Server, StopsAtOnceWithStreamsOpen) {
  Served served(test::served_options(), test::long_model());
  const std::string path = session_path(served, text_of(4096));
  std::atomic<bool> open = false;
  std::thread stream([&] {
    served.client().Get(path + "/events", [&](const char*, std::size_t) { return open = true; });
  });
  while (!open) std::this_thread::yield();
  const auto begin = Clock::now();
  served.server.stop();
  stream.join();
  EXPECT_LT(seconds_since(begin), 3);
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
