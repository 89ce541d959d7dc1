#include "heed/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/thread_ranks.h"

namespace heed {
namespace {

std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(std::sin(static_cast<float>(i + 1) * static_cast<float>(rank + 3)));
  return values;
}

TEST(Ranks, SumIsTheSumInTheOrderOfRanksOnEachOfThem) {
  for (const int count : {1, 2, 3, 5})
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{2}, std::size_t{7}, std::size_t{64}}) {
      std::vector<float> expected;
      for (std::size_t i = 0; i < size; ++i) {
        double total = 0;
        for (int rank = 0; rank < count; ++rank)
          total += static_cast<double>(values_of(rank, size)[i]);
        expected.push_back(static_cast<float>(total));
      }
      test::on_ranks(count, [&](Ranks& ranks) {
        std::vector<float> values = values_of(ranks.rank(), size);
        sum(ranks, values);
        EXPECT_EQ(values, expected) << count << " ranks, rank " << ranks.rank();
      });
    }
}

TEST(Ranks, GatherHoldsEveryRanksBytesInOrder) {
  test::on_ranks(3, [](Ranks& ranks) {
    const std::vector<int> own = {ranks.rank(), 10 * ranks.rank()};
    std::vector<int> all(6);
    gather(ranks, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    EXPECT_THAT(all, testing::ElementsAre(0, 0, 1, 10, 2, 20));
  });
}

TEST(Ranks, BroadcastGivesAllWhatRankZeroHas) {
  test::on_ranks(3, [](Ranks& ranks) {
    std::vector<int> values = {ranks.rank(), 5 + ranks.rank()};
    broadcast(ranks, std::as_writable_bytes(std::span(values)));
    EXPECT_THAT(values, testing::ElementsAre(0, 5));
  });
}

TEST(Ranks, WorkThatFailsOnOneRankEndsOnAll) {
  test::on_ranks(3, [](Ranks& ranks) {
    int done = 0;
    run_together(ranks, [&] { ++done; });
    EXPECT_EQ(done, 1);
    const auto fails_on_two = [&] {
      run_together(ranks, [&] {
        if (ranks.rank() == 2) fail("work", "tea", "cold", "hot");
      });
    };
    if (ranks.rank() == 2) {
      EXPECT_HEED_ERROR(fails_on_two(), ErrorCode::kInvalidArgument,
                        "work: tea is cold, expected hot");
    } else {
      EXPECT_THROW(fails_on_two(), AnotherRankFailed);
    }
  });
}

TEST(Ranks, WorkThatOneRankLeavesIsLeftOnAll) {
  test::on_ranks(3, [](Ranks& ranks) {
    try {
      run_together(ranks, [&] {
        if (ranks.rank() == 1) fail({.code = ErrorCode::kInterrupted, .found = "left"});
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
    }
  });
}

TEST(Ranks, AMessageGoesOnceAroundTheRing) {
  test::on_ranks(4, [](Ranks& ranks) {
    int here = ranks.rank();
    for (int step = 0; step < ranks.count(); ++step) {
      int next = -1;
      const Outgoing out = {.to = (ranks.rank() + 1) % 4,
                            .bytes = std::as_bytes(std::span(&here, 1))};
      const Incoming in = {.from = (ranks.rank() + 3) % 4,
                           .bytes = std::as_writable_bytes(std::span(&next, 1))};
      ranks.start({&out, 1}, {&in, 1}, 5)->wait();
      EXPECT_EQ(next, (ranks.rank() + 2 * ranks.count() - step - 1) % ranks.count());
      here = next;
    }
    EXPECT_EQ(here, ranks.rank());
  });
}

}  // namespace
}  // namespace heed
