// What is checked before a body is read, how much is read, and for how long.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "serve/raw_client.h"
#include "serve/request_head.h"
#include "serve/route.h"
#include "serve/served.h"

namespace heed {
namespace {

using std::chrono::milliseconds;
using test::RawClient;
using test::Served;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// A head whose body has not been sent.
std::string post_head(const Served& served, const std::string& more, bool with_token = true) {
  const std::string token =
      with_token ? fmt::format("Authorization: Bearer {}\r\n", test::kToken) : "";
  return fmt::format("POST /api/v1/sessions HTTP/1.1\r\nHost: localhost:{}\r\n{}{}\r\n",
                     served.server.port(), token, more);
}

// The answer to a head that announces a body which never comes: the server must not wait for it.
std::string answer_to_head(const Served& served, const std::string& head) {
  const RawClient client(served.server.port());
  client.send(head);
  return client.receive();
}

double resident_megabytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) /
         static_cast<double>(kMegabyte);
}

// How much the process has grown while this connection has sent 64 MB, or as much as was taken.
double megabytes_kept_of_64(const Served& served, const std::string& head,
                            const std::string& part) {
  const RawClient client(served.server.port());
  const double before = resident_megabytes();
  client.send(head);
  client.send_until_refused(part, 64 * kMegabyte);
  return resident_megabytes() - before;
}

TEST(ServerFront, AForeignHostIsRefusedBeforeItsBody) {
  const Served served;
  EXPECT_THAT(answer_to_head(served,
                             "POST /api/v1/sessions HTTP/1.1\r\nHost: evil.example\r\n"
                             "Content-Length: 1000\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
}

TEST(ServerFront, AForeignOriginOrSiteIsRefusedBeforeItsBody) {
  const Served served;
  for (const char* header : {"Origin: http://evil.example", "Sec-Fetch-Site: cross-site"})
    EXPECT_THAT(answer_to_head(
                    served, post_head(served, fmt::format("{}\r\nContent-Length: 9\r\n", header))),
                StartsWith("HTTP/1.1 403"))
        << header;
}

TEST(ServerFront, ABodyWithoutTokenIsRefusedBeforeItCame) {
  const Served served;
  for (const char* header : {"Content-Length: 1000", "Transfer-Encoding: chunked"})
    EXPECT_THAT(answer_to_head(
                    served, post_head(served, fmt::format("{}\r\n", header), /*with_token=*/false)),
                StartsWith("HTTP/1.1 401"))
        << header;
}

TEST(ServerFront, ChunkedAndCompressedBodiesAreRefusedBeforeTheyCame) {
  const Served served;
  EXPECT_THAT(answer_to_head(served, post_head(served, "Transfer-Encoding: chunked\r\n")),
              StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(answer_to_head(served, post_head(served, "transfer-encoding: gzip, chunked\r\n")),
              StartsWith("HTTP/1.1 411"));
  for (const char* encoding : {"gzip", "deflate", "br", "identity"})
    EXPECT_THAT(answer_to_head(served, post_head(served, fmt::format("Content-Encoding: {}\r\n"
                                                                     "Content-Length: 9\r\n",
                                                                     encoding))),
                StartsWith("HTTP/1.1 415"))
        << encoding;
}

TEST(ServerFront, ABodyOverItsCapIsRefusedBeforeItCameAndClosesTheConnection) {
  const Served served(test::served_options({.body_bytes = 20000}));
  for (const char* length : {"20001", "600000000", "99999999999999999999999"}) {
    const std::string answer =
        answer_to_head(served, post_head(served, fmt::format("Content-Length: {}\r\n", length)));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(answer, HasSubstr("expected at most 20000 bytes"));
  }
}

TEST(ServerFront, ALengthThatIsNoneIsRefused) {
  const Served served;
  for (const char* lines : {"Content-Length: -1\r\n", "Content-Length: +5\r\n",
                            "Content-Length: 5, 5\r\n", "Content-Length: 0x5\r\n",
                            "Content-Length: \r\n", "Content-Length: 5\r\nContent-Length: 5\r\n"})
    EXPECT_THAT(answer_to_head(served, post_head(served, lines)), StartsWith("HTTP/1.1 400"))
        << lines;
}

TEST(ServerFront, ARefusalIsOneLineOfJsonWithThePolicy) {
  const Served served;
  const std::string answer =
      answer_to_head(served, post_head(served, "Content-Length: 5\r\n", false));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Security-Policy: default-src 'self'"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n{\"error\":{\"code\":\"unauthorized\",\"message\":"));
  EXPECT_EQ(answer.find('\n', answer.find("\r\n\r\n") + 4), std::string::npos);
}

TEST(ServerFront, WhatFollowsARefusalIsNotTakenForARequest) {
  const Served served;
  const std::string next = fmt::format(
      "GET /api/v1/models HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n\r\n",
      served.server.port(), test::kToken);
  const std::string answer = answer_to_head(
      served, post_head(served, fmt::format("Content-Length: {}\r\n", next.size()), false) + next);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(answer, Not(HasSubstr("HTTP/1.1 200")));
}

TEST(ServerFront, RequestsSentTogetherAreAnsweredInTurn) {
  const Served served;
  const RawClient client(served.server.port());
  const std::string body = R"({"text":"the cat"})";
  client.send(post_head(served, fmt::format("Content-Length: {}\r\n", body.size())) + body +
              post_head(served, fmt::format("Content-Length: 1\r\nConnection: close\r\n")) + "{");
  const std::string answers = client.receive();
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 201"));
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 400"));
}

TEST(ServerFront, WhoAsksBeforeItsBodyIsToldToGoOnOrRefused) {
  const Served served;
  const std::string body = R"({"text":"the cat"})";
  const std::string expect = fmt::format(
      "Expect: 100-continue\r\nConnection: close\r\nContent-Length: {}\r\n", body.size());
  const RawClient client(served.server.port());
  client.send(post_head(served, expect));
  EXPECT_EQ(client.receive_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(body);
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 201"));
  EXPECT_THAT(answer_to_head(served, post_head(served, expect, false)), StartsWith("HTTP/1.1 401"));
}

// Each byte alone would renew a patience with silence.
TEST(ServerFront, ARequestThatDripsIsDroppedWhenItsTimeIsOver) {
  const Served served(test::served_options({.request_time = milliseconds(1000)}));
  for (const std::string& begin :
       {std::string("GET / HTTP/1.1\r\nX: "), post_head(served, "Content-Length: 1000\r\n")}) {
    const RawClient client(served.server.port());
    const auto start = Clock::now();
    client.send(begin);
    std::string answer;
    while (answer.empty() && Clock::now() - start < test::kPatience) {
      client.send("a");
      answer = client.receive_now();
      std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
    EXPECT_GE(Clock::now() - start, milliseconds(1000));
  }
}

// A worker that read half a request would wait for the rest longer than the client waits for its
// answer.
TEST(ServerFront, SilentClientsAndHalvesOfRequestsHoldNoWorker) {
  const Served served(test::served_options({.request_time = std::chrono::hours(1), .workers = 1}));
  std::vector<RawClient> idle;
  for (int i = 0; i < 50; ++i) idle.emplace_back(served.server.port());
  for (std::size_t i = 0; i < 25; ++i) idle[i].send("GET /api/v1/mod");
  const auto answer = served.client().Get("/api/v1/models");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(ServerFront, ChunksLeaveNothingInMemoryWithATokenOrWithout) {
  const Served served;
  const std::string chunk = "100000\r\n" + std::string(kMegabyte, 'a') + "\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string foreign =
      "POST /api/v1/sessions HTTP/1.1\r\nHost: evil.example\r\n" + chunked + "\r\n";
  for (const std::string& head :
       {foreign, post_head(served, chunked, /*with_token=*/false), post_head(served, chunked)})
    EXPECT_LT(megabytes_kept_of_64(served, head, chunk), 8) << head;
}

TEST(ServerFront, AHeadWithoutEndLeavesNothingInMemory) {
  const Served served;
  EXPECT_LT(megabytes_kept_of_64(served, "GET / HTTP/1.1\r\n", std::string(kMegabyte, 'a')), 8);
  std::string lines;
  while (lines.size() < kMegabyte) lines += "X: " + std::string(1000, 'a') + "\r\n";
  EXPECT_LT(megabytes_kept_of_64(served, "GET / HTTP/1.1\r\n", lines), 8);
}

TEST(ServerFront, AHeadThatIsTooLargeIsToldSo) {
  const Served served;
  const std::string large = "X: " + std::string(40000, 'a') + "\r\n";
  EXPECT_THAT(answer_to_head(served, post_head(served, large)), StartsWith("HTTP/1.1 431"));
  const std::string address = "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_THAT(answer_to_head(served, address), StartsWith("HTTP/1.1 414"));
}

using serve::parse_head;

TEST(RequestHead, IsALineAndHeaders) {
  const auto head =
      parse_head("GET /a?b=c HTTP/1.1\r\nHost: x\r\nACCEPT:  a, b \t\r\nEmpty:\r\n\r\n");
  EXPECT_EQ(head.line, "GET /a?b=c HTTP/1.1");
  EXPECT_EQ(head.headers.size(), 3);
  EXPECT_EQ(serve::only_value(head.headers, "accept"), "a, b");
  EXPECT_EQ(serve::only_value(head.headers, "empty"), "");
  EXPECT_TRUE(head.keep_alive);
}

TEST(RequestHead, WhatParsersReadInDifferentWaysIsRefused) {
  for (const std::string headers :
       {"no colon", "Host : a", " Host: a", ": a", "A: b\nHost: c", "A: b\rHost: c", "A\xc3: b",
        "A: b\x01", "A: 1\r\n folded", "Content Length: 5"})
    EXPECT_THROW(parse_head("GET / HTTP/1.1\r\n" + headers + "\r\n\r\n"), serve::Refused)
        << headers;
  EXPECT_THROW(parse_head("GET / HTTP/1.1\r\nA: b" + std::string(1, '\0') + "\r\n\r\n"),
               serve::Refused);
  for (const std::string line : {"", "GET / HTTP/1.1\nHost: a", "GET /\x01 HTTP/1.1"})
    EXPECT_THROW(parse_head(line + "\r\n\r\n"), serve::Refused) << line;
}

TEST(RequestHead, AConnectionStaysOpenAsItsVersionAndHeaderSay) {
  const auto keeps = [](const std::string& version, const std::string& header) {
    return parse_head("GET / " + version + "\r\n" + header + "\r\n\r\n").keep_alive;
  };
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: Close"));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: keep-alive, close"));
  EXPECT_TRUE(keeps("HTTP/1.1", "Connection: keep-alive"));
  EXPECT_FALSE(keeps("HTTP/1.0", "A: b"));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive"));
}

}  // namespace
}  // namespace heed
