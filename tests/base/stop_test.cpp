#include "base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <type_traits>

#include "heed/threads.h"
#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Stop, EndsAParallelLoopBetweenItsTasks) {
  std::atomic<bool> stop = false;
  std::atomic<int> tasks = 0;
  const StopScope scope(stop);
  EXPECT_HEED_ERROR(parallel_for(100000,
                                 [&](std::int64_t, int) {
                                   ++tasks;
                                   stop = true;
                                 }),
                    ErrorCode::kInterrupted, "the work was stopped");
  EXPECT_GE(tasks, 1);
  EXPECT_LT(tasks, 100000);
}

TEST(Stop, EndsTheLoopsInsideOfATask) {
  std::atomic<bool> stop = false;
  std::atomic<int> inner = 0;
  const StopScope scope(stop);
  EXPECT_HEED_ERROR(parallel_for(2,
                                 [&](std::int64_t, int) {
                                   parallel_for(100000, [&](std::int64_t, int) {
                                     ++inner;
                                     stop = true;
                                   });
                                 }),
                    ErrorCode::kInterrupted, "the work was stopped");
  EXPECT_LT(inner, 100000);
}

TEST(Stop, ConcernsItsOwnScopeAlone) {
  const std::atomic<bool> stop = true;
  {
    const StopScope scope(stop);
  }
  int tasks = 0;
  parallel_for(1, [&](std::int64_t, int) { ++tasks; });
  EXPECT_EQ(tasks, 1);
}

// Other threads wait in their first task, so that the caller gets tasks however they are scheduled.
TEST(Stop, AsksOnTheCallersThreadAlone) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> questions = 0;
  const std::function<bool()> question = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    const bool stop = ++questions == 3;
    questions.notify_all();
    return stop;
  };
  const auto task = [&](std::int64_t, int) {
    if (std::this_thread::get_id() == caller) return;
    for (int asked = questions; asked < 3; asked = questions) questions.wait(asked);
  };
  const AskScope scope(question);
  EXPECT_HEED_ERROR(parallel_for(100000, task), ErrorCode::kInterrupted, "the work was stopped");
  EXPECT_EQ(questions, 3);
}

// It is used as long as the scope lives.
static_assert(!std::is_constructible_v<AskScope, std::function<bool()>>);

TEST(Stop, AsksNobodyOutsideOfItsScope) {
  int questions = 0;
  const std::function<bool()> question = [&] { return ++questions > 0; };
  {
    const AskScope scope(question);
  }
  parallel_for(3, [](std::int64_t, int) {});
  EXPECT_EQ(questions, 0);
}

}  // namespace
}  // namespace heed
