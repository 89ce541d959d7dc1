#include "heed/ops/observers/columns.h"

#include <gtest/gtest.h>

#include "ops/observers/observed.h"

namespace heed {
namespace {

class ColumnsObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, ColumnsObserved, observed_types(), type_name);

TEST_P(ColumnsObserved, ComeInTheOrderInWhichTheyWereChosen) {
  ColumnsObserver observer(std::vector<HeadKey>{{3, 100}, {0, 2}, {3, 100}, {1, 169}});
  ColumnsObserver every(std::vector<std::int64_t>{7, 3}, ObservedValue::kScores);
  watch({&observer, &every});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 4, kQueries}));
  ASSERT_EQ(every.values.shape(), (Shape{kBatch, kHeads * 2, kQueries}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t i = 0; i < kQueries; ++i) {
      const auto found = [&](std::int64_t n) {
        return observer.values.data<float>()[(b * 4 + n) * kQueries + i];
      };
      ASSERT_NEAR(found(0), weight(b, 3, i, 100), 1e-6);
      ASSERT_NEAR(found(1), weight(b, 0, i, 2), 1e-6);
      ASSERT_NEAR(found(2), weight(b, 3, i, 100), 1e-6);
      ASSERT_NEAR(found(3), weight(b, 1, i, 169), 1e-6);
      const float scored = every.values.data<float>()[(b * 8 + 5) * kQueries + i];
      const double expected = score(b, 2, i, 3);
      if (std::isinf(expected)) {
        ASSERT_EQ(scored, static_cast<float>(expected));
      } else {
        ASSERT_NEAR(scored, expected, 1e-5);
      }
    }
}

}  // namespace
}  // namespace heed
