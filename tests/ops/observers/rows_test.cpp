#include "heed/ops/observers/rows.h"

#include <gtest/gtest.h>

#include "ops/observers/observed.h"

namespace heed {
namespace {

class RowsObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, RowsObserved, observed_types(), type_name);

TEST_P(RowsObserved, RowsComeInTheOrderInWhichTheyWereChosen) {
  RowsObserver observer(std::vector<HeadRow>{{3, 100}, {0, 2}, {3, 100}, {1, 149}});
  RowsObserver every(std::vector<std::int64_t>{7, 3});
  watch({&observer, &every});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 4, kKeys}));
  ASSERT_EQ(every.values.shape(), (Shape{kBatch, kHeads * 2, kKeys}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const auto found = [&](std::int64_t n) {
        return observer.values.data<float>()[(b * 4 + n) * kKeys + j];
      };
      ASSERT_NEAR(found(0), weight(b, 3, 100, j), 1e-6);
      ASSERT_NEAR(found(1), weight(b, 0, 2, j), 1e-6);
      ASSERT_NEAR(found(2), weight(b, 3, 100, j), 1e-6);
      ASSERT_NEAR(found(3), weight(b, 1, 149, j), 1e-6);
      ASSERT_NEAR(every.values.data<float>()[(b * 8 + 5) * kKeys + j], weight(b, 2, 3, j), 1e-6);
    }
}

}  // namespace
}  // namespace heed
