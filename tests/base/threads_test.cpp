#include "heed/base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/expect_error.h"

namespace heed {

TEST(Threads, EveryIndexRunsOnce) {
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    std::vector<std::atomic<int>> runs(100);
    parallel_for(100, [&](std::int64_t index, int thread) {
      EXPECT_LT(thread, threads);
      ++runs[static_cast<std::size_t>(index)];
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
  set_thread_count(0);
}

TEST(Threads, AnErrorOfATaskReachesTheCaller) {
  EXPECT_HEED_ERROR(
      parallel_for(50, [](std::int64_t, int) { fail(ErrorCode::kFailed, "task: no"); }),
      ErrorCode::kFailed, "task: no");
}

}  // namespace heed
