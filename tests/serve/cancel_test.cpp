// Work whose result is no longer wanted stops.
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>

#include "heed/error.h"
#include "inspect/map/cells.h"
#include "inspect/map/maps.h"
#include "inspect/map/tiles.h"
#include "inspect/patterns.h"
#include "serve/api.h"
#include "serve/route.h"
#include "serve/served.h"
#include "support/expect_error.h"

namespace heed::serve {
namespace {

TEST(Views, ANewerRequestEndsTheOlderOfTheSameName) {
  Views views;
  const Flag old = views.enter("hover");
  const Flag other = views.enter("matrix");
  const Flag fresh = views.enter("hover");
  EXPECT_TRUE(*old);
  EXPECT_FALSE(*other);
  EXPECT_FALSE(*fresh);
  views.leave("hover", old);  // late: the newer one keeps the name
  views.enter("hover");
  EXPECT_TRUE(*fresh);
}

TEST(Cells, StopBetweenBlocksWhenTheClientIsGone) {
  const LayerAttention layer =
      test::layer_of(1, 300, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  Cancel gone(nullptr, [] { return true; });
  const CellsRequest all = {.row_end = 300, .key_end = 300};
  EXPECT_HEED_ERROR(matrix_cells(layer, all, gone), ErrorCode::kInterrupted,
                    "the request was cancelled");
}

// The text that a client receives from a long answer whose work ends like this, and whether it is
// complete.
std::pair<std::string, bool> sent_by(
    const std::function<std::string(Cancel&, LiveSession&)>& compute,
    const char* type = "application/json") {
  const ServerOptions options = test::served_options();
  Api api(&test::shared_model(), options);
  httplib::Request request;
  request.params.emplace("view", "hover");
  httplib::Response response;
  const SessionPointer session = api.sessions.post({.input = {.text = "the cat"}}).session;
  send_long({{request, {}}, api, response},
            {.session = session, .type = type, .compute = [&](Cancel& cancel) {
               return compute(cancel, *session);
             }});
  std::pair<std::string, bool> sent;
  httplib::DataSink sink;
  sink.is_writable = [] { return true; };
  sink.done = [] {};
  sink.write = [&](const char* data, std::size_t size) {
    sent.first.append(data, size);
    return true;
  };
  sent.second = response.content_provider_(0, 0, sink);
  return sent;
}

TEST(LongAnswer, ThatFailsAfterItsHeadersIsAnErrorInItsPlace) {
  const auto [text, is_whole] = sent_by([](Cancel&, LiveSession&) -> std::string {
    fail({.code = ErrorCode::kFailed, .found = "no luck"});
  });
  EXPECT_EQ(text, R"({"error":{"code":"failed","message":"no luck"}})");
  EXPECT_TRUE(is_whole);
}

TEST(LongAnswer, ThatIsCancelledEndsWithoutAWord) {
  const auto [text, is_whole] = sent_by([](Cancel&, LiveSession&) -> std::string {
    fail({.code = ErrorCode::kInterrupted, .found = "cancelled"});
  });
  EXPECT_EQ(text, "");
  EXPECT_FALSE(is_whole);
}

std::string replaced_at_work(Cancel& cancel, LiveSession& session) {
  session.views.enter("hover");  // a newer request
  cancel.check();
  return "{}";
}

TEST(LongAnswer, ThatANewerRequestReplacesEndsWholeWithAnError) {
  const auto [text, is_whole] = sent_by(replaced_at_work);
  EXPECT_EQ(text,
            R"({"error":{"code":"replaced","message":"a newer request with the same view has )"
            R"(taken the place of this"}})");
  EXPECT_TRUE(is_whole);
}

TEST(LongAnswer, InBytesThatANewerRequestReplacesEndsEarly) {
  const auto [bytes, is_whole] = sent_by(replaced_at_work, "application/octet-stream");
  EXPECT_EQ(bytes, "");
  EXPECT_FALSE(is_whole);
}

// Returns the lines sent to a client that leaves after `most` of them; the work never ends.
std::string lines_until_gone(std::size_t most) {
  const ServerOptions options = test::served_options();
  Api api(&test::shared_model(), options);
  const httplib::Request request;
  httplib::Response response;
  const SessionPointer session = api.sessions.post({.input = {.text = "the cat"}}).session;
  LongAnswer answer{.session = session, .compute = {}};
  answer.compute_in_lines = [](Cancel&, const LongAnswer::Tell& tell) -> std::string {
    while (true) tell("{}");
  };
  send_long({{request, {}}, api, response}, answer);
  std::string sent;
  httplib::DataSink sink;
  sink.is_writable = [&] { return true; };
  sink.write = [&](const char* data, std::size_t size) {
    sent.append(data, size);
    return sent.size() < 3 * most;
  };
  EXPECT_FALSE(response.content_provider_(0, 0, sink));
  return sent;
}

TEST(LongAnswer, InLinesStopsWhenALineCannotBeSent) { EXPECT_EQ(lines_until_gone(2), "{}\n{}\n"); }

TEST(Sweeper, StopsWhatNobodyWaitsForAndGoesOn) {
  Sweeper sweeper;
  const auto started = std::make_shared<std::atomic<bool>>(false);
  Cancel gone(nullptr, [started] { return started->load(); });
  const auto stopped = std::make_shared<std::promise<void>>();
  const auto endless = [started, stopped](const Sweeper::Check& check) {
    *started = true;
    try {
      while (true) check();
    } catch (...) {
      stopped->set_value();
      throw;
    }
  };
  EXPECT_HEED_ERROR(sweeper.run(endless, gone), ErrorCode::kInterrupted,
                    "the request was cancelled");
  stopped->get_future().get();
  Cancel patient(nullptr, [] { return false; });
  bool ran = false;
  sweeper.run([&](const Sweeper::Check&) { ran = true; }, patient);
  EXPECT_TRUE(ran);
}

TEST(Sweeper, HandsOnWhatItsWorkThrew) {
  Sweeper sweeper;
  Cancel patient(nullptr, [] { return false; });
  EXPECT_HEED_ERROR(
      sweeper.run(
          [](const Sweeper::Check&) { fail({.code = ErrorCode::kFailed, .found = "no luck"}); },
          patient),
      ErrorCode::kFailed, "no luck");
}

TEST(RecentCache, KeepsNoMoreBytesThanItMay) {
  RecentCache<std::string> cache(100);
  const auto value = std::make_shared<const std::string>("x");
  cache.keep("a", value, 40);
  cache.keep("b", value, 40);
  EXPECT_NE(cache.find("a"), nullptr);
  cache.keep("c", value, 40);
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  cache.keep("d", value, 101);
  EXPECT_EQ(cache.find("d"), nullptr);
}

TEST(Tiles, ZoomLevelsHoldTheWholeMatrixAtZero) {
  for (const auto& [length, levels] : std::map<std::int64_t, int>{
           {1, 1}, {256, 1}, {257, 2}, {512, 2}, {513, 3}, {4096, 5}, {100000, 10}})
    EXPECT_EQ(zoom_levels({length, length / 2}), levels) << length;
}

TEST(Tiles, BytesAreTheirLogarithmInStepsFromTwoTo255) {
  EXPECT_EQ(weight_byte(std::nanf("")), 0);
  EXPECT_EQ(weight_byte(0), 1);
  EXPECT_EQ(weight_byte(0x1p-25F), 1);
  EXPECT_EQ(weight_byte(0x1p-24F), 2);
  EXPECT_EQ(weight_byte(1), 255);
  EXPECT_EQ(weight_byte(0.5F), 2 + std::lround(253 * 23 / 24.0));
}

TEST(MatchPath, TakesValuesBetweenSlashes) {
  const auto found = match_path("/a/{x}/b/{y}", "/a/1/b/2");
  EXPECT_EQ(found, (PathValues{{"x", "1"}, {"y", "2"}}));
  for (const char* other : {"/a/1/b", "/a/1/b/2/", "/a//b/2", "/a/1/c/2", "", "/"})
    EXPECT_FALSE(match_path("/a/{x}/b/{y}", other)) << other;
}

}  // namespace
}  // namespace heed::serve
