#include "heed/threads.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/float_mode.h"
#include "base/parallel.h"
#include "heed/error.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using std::chrono::milliseconds;

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

// Two tasks of two threads that wait for each other.
void meet() {
  std::atomic<int> here{0};
  parallel_for(2, [&](std::int64_t, int) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
}

double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const auto& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(Threads, EveryIndexRunsOnce) {
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    std::vector<std::atomic<int>> runs(100);
    parallel_for(100, [&](std::int64_t index, int thread) {
      EXPECT_LT(thread, threads);
      ++runs[static_cast<std::size_t>(index)];
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST_F(Threads, OfOneLoopHaveNumbersOfTheirOwn) {
  set_thread_count(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> inside(4);
    parallel_for(50, [&](std::int64_t, int thread) {
      std::atomic<int>& mine = inside.at(static_cast<std::size_t>(thread));
      EXPECT_EQ(++mine, 1);
      --mine;
    });
  }
}

TEST_F(Threads, RunTasksAtTheSameTime) {
  set_thread_count(2);
  meet();
}

TEST_F(Threads, AnErrorOfATaskReachesTheCaller) {
  EXPECT_HEED_ERROR(parallel_for(50,
                                 [](std::int64_t, int) {
                                   fail({.code = ErrorCode::kFailed, .op = "task", .found = "no"});
                                 }),
                    ErrorCode::kFailed, "task: no");
}

TEST_F(Threads, AfterAnErrorTheNextLoopRuns) {
  set_thread_count(3);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(parallel_for(50,
                              [&](std::int64_t index, int) {
                                if (index == round % 50) throw std::runtime_error("no");
                              }),
                 std::runtime_error);
    std::atomic<int> runs{0};
    parallel_for(50, [&](std::int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 50);
  }
}

TEST_F(Threads, NestedLoopsStayOnTheirThread) {
  set_thread_count(3);
  parallel_for(6, [](std::int64_t, int) {
    const std::thread::id outer = std::this_thread::get_id();
    EXPECT_EQ(threads_here(), 1);
    parallel_for(20, [&](std::int64_t, int thread) {
      EXPECT_EQ(thread, 0);
      EXPECT_EQ(std::this_thread::get_id(), outer);
    });
  });
  EXPECT_EQ(threads_here(), 3);
}

TEST_F(Threads, UnderASerialScopeLoopsStayOnTheCaller) {
  set_thread_count(3);
  const SerialScope serial;
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(20, [&](std::int64_t, int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST_F(Threads, CallersShareThoseOfThePool) {
  set_thread_count(3);
  parallel_for(3, [](std::int64_t, int) { std::this_thread::sleep_for(milliseconds(5)); });
  const std::ptrdiff_t before = threads_of_process();
  std::vector<std::thread> callers;
  for (int n = 0; n < 5; ++n)
    callers.emplace_back([before] {
      for (int round = 0; round < 20; ++round) {
        std::atomic<std::int64_t> sum{0};
        parallel_for(40, [&](std::int64_t index, int) { sum += index; });
        EXPECT_EQ(sum, 40 * 39 / 2);
        EXPECT_LE(threads_of_process(), before + 5);
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST_F(Threads, NoMoreOfThemWorkThanTheCallersAndTheCountLessOne) {
  set_thread_count(6);
  parallel_for(6, [](std::int64_t, int) { std::this_thread::sleep_for(milliseconds(1)); });
  set_thread_count(2);  // the pool has five by now
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> callers;
  for (int n = 0; n < 2; ++n)
    callers.emplace_back([&] {
      parallel_for(20, [&](std::int64_t, int) {
        const int now = ++inside;
        for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
        }
        std::this_thread::sleep_for(milliseconds(1));
        --inside;
      });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, 3);
}

TEST_F(Threads, LeaveLoopsOfTheBackgroundWhileSomethingIsUrgentAndComeBack) {
  set_thread_count(2);
  std::atomic<bool> ended{false};
  std::atomic<int> helped{0}, alone{0};
  std::thread background([&] {
    const BackgroundScope scope;
    parallel_for(1'000'000, [&](std::int64_t, int thread) {
      if (ended) return;
      (thread == 0 ? alone : helped)++;
      std::this_thread::sleep_for(milliseconds(1));
    });
  });
  const auto count_to = [](const std::atomic<int>& count, int more) {
    for (const int end = count + more; count < end;) std::this_thread::yield();
  };
  count_to(helped, 3);
  {
    const UrgentScope urgent;
    meet();  // takes the helper
    const int before = helped;
    count_to(alone, 10);
    EXPECT_EQ(helped, before);
  }
  count_to(helped, 3);
  ended = true;
  background.join();
}

TEST_F(Threads, ThatComeBackToALoopHaveNumbersOfTheirOwn) {
  constexpr int kThreads = 4;
  set_thread_count(kThreads);
  std::array<std::atomic<int>, kThreads> inside = {};
  std::atomic<bool> ended{false}, shared{false};
  std::atomic<int> tasks{0};
  std::thread background([&] {
    const BackgroundScope scope;
    parallel_for(1'000'000, [&](std::int64_t, int thread) {
      if (ended) return;
      if (++inside.at(static_cast<std::size_t>(thread)) > 1) shared = true;
      ++tasks;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      --inside.at(static_cast<std::size_t>(thread));
    });
  });
  for (int round = 0; round < 20; ++round) {
    for (const int end = tasks + 20; tasks < end;) std::this_thread::yield();
    const UrgentScope urgent;
    for (const int end = tasks + 3; tasks < end;) std::this_thread::yield();
  }
  ended = true;
  background.join();
  EXPECT_FALSE(shared);
}

TEST_F(Threads, SleepWhenThereIsNothingToDo) {
  set_thread_count(4);
  parallel_for(100, [](std::int64_t, int) {});
  double used = 1;
  for (int tries = 0; used > 0.003 && tries < 200; ++tries) {  // they may wait for their turn first
    const double before = cpu_seconds();
    std::this_thread::sleep_for(milliseconds(300));
    used = cpu_seconds() - before;
  }
  EXPECT_LT(used, 0.003);
}

TEST_F(Threads, ComputeInTheFloatModeOfTheirCaller) {
  set_thread_count(2);
  meet();  // the other thread was made in another mode
  const FloatModeScope flushing(float_mode() | kFlushToZero);
  std::atomic<int> here{0};
  parallel_for(2, [&](std::int64_t, int) {
    ++here;
    while (here < 2) std::this_thread::yield();
    EXPECT_EQ(float_mode() & kFlushToZero, kFlushToZero);
  });
}

TEST_F(Threads, LeaveSignalsToTheHost) {
  set_thread_count(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> here{0};
  parallel_for(2, [&](std::int64_t, int) {
    ++here;
    while (here < 2) std::this_thread::yield();
    sigset_t blocked;  // NOLINT(misc-include-cleaner): signal.h has it
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGINT) == 1, std::this_thread::get_id() != caller);
  });
}

TEST_F(Threads, TheirCountHasTheSameBoundsEverywhere) {
  set_thread_count(4096);
  EXPECT_EQ(thread_count(), 4096);
  for (const int count : {-1, 4097, 1'000'000})
    EXPECT_HEED_ERROR(set_thread_count(count), ErrorCode::kInvalidArgument,
                      "set_thread_count: count is " + std::to_string(count) +
                          ", expected 1 to 4096, or 0 for the default");
  EXPECT_EQ(thread_count(), 4096);
}

// A hanging child is ended by the alarm, with a different status.
int status_of_child(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(Threads, AreThereAgainInAChildOfFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer starts no threads after fork";
#endif
  set_thread_count(2);
  meet();
  EXPECT_EQ(status_of_child(meet), 0);
  meet();
}

TEST_F(Threads, AreThereInAChildThatIsForkedWhileOthersCompute) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer starts no threads after fork";
#endif
  set_thread_count(2);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) parallel_for(20, [](std::int64_t, int) {});
  });
  for (int round = 0; round < 20; ++round) EXPECT_EQ(status_of_child(meet), 0);
  stop = true;
  other.join();
}

}  // namespace
}  // namespace heed
