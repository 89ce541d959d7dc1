#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/philox.h"
#include "heed/threads.h"
#include "ops/elementwise.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {

using test::random_tensor;
using test::same_bits;

Tensor dropped(Tensor x, const ElementDropout& args) {
  dropout(x, args);
  return x;
}

TEST(Dropout, TheMaskIsPhiloxOfElementAndSite) {
  const Tensor x = random_tensor({1003}, 1);
  const Tensor y = dropped(x.clone(), {.rate = 0.25, .seed = 0x123456789AULL, .site = 7});
  for (std::uint32_t i = 0; i < 1003; ++i) {
    const std::uint32_t word = philox({i >> 2, 0, 7, 0}, {0x3456789AU, 0x12U})[i & 3];
    const float expected = word >= 0x40000000U ? x.data<float>()[i] * (1 / 0.75F) : 0.0F;
    EXPECT_EQ(y.data<float>()[i], expected) << i;
  }
}

TEST(Dropout, AgreesWithTheReference) {
  const Tensor x = random_tensor({3, 40001}, 1);
  const ElementDropout args = {.rate = 0.5, .seed = 5, .site = 2};  // a scale of 2 rounds nothing
  const Tensor fast = dropped(x.clone(), args);
  const Tensor slow = dropped(Tensor::converted(x, DType::kF64), args);
  EXPECT_EQ(test::largest_difference(fast, slow), 0);
}

TEST(Dropout, PartsOfATensorGetTheMasksOfTheWhole) {
  const Tensor x = random_tensor({40000}, 1);
  const Tensor whole = dropped(x.clone(), {.rate = 0.3, .seed = 9});
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 77}, {77, 16390}, {16390, 40000}}) {
    const Tensor part = dropped(Tensor::copy_of(x.view().slice(0, begin, end)),
                                {.rate = 0.3, .seed = 9, .first = begin});
    EXPECT_TRUE(same_bits(part, Tensor::copy_of(whole.view().slice(0, begin, end)))) << begin;
  }
}

TEST(Dropout, DropsTheShareThatWasAsked) {
  const Tensor y = dropped(random_tensor({100000}, 1), {.rate = 0.1, .seed = 3});
  const auto zeros = std::count(y.data<float>(), y.data<float>() + 100000, 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros), 10000, 400);  // four standard deviations
}

TEST(Dropout, RateZeroChangesNothing) {
  const Tensor x = random_tensor({50}, 1);
  EXPECT_TRUE(same_bits(dropped(x.clone(), {.rate = 0}), x));
}

TEST(Dropout, SitesDiffer) {
  const Tensor x = random_tensor({64}, 1);
  EXPECT_FALSE(same_bits(dropped(x.clone(), {.rate = 0.5, .site = 1}),
                         dropped(x.clone(), {.rate = 0.5, .site = 2})));
}

TEST(Dropout, BitsDoNotDependOnThreads) {
  const Tensor x = random_tensor({100001}, 1);
  set_thread_count(1);
  const Tensor one = dropped(x.clone(), {.rate = 0.3});
  set_thread_count(3);
  const Tensor three = dropped(x.clone(), {.rate = 0.3});
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one, three));
}

TEST(Dropout, SaysWhatDoesNotFit) {
  Tensor x = Tensor::zeros({4});
  EXPECT_HEED_ERROR(dropout(x, {.rate = 1}), ErrorCode::kInvalidArgument,
                    "dropout: rate is 1, expected 0 or more and below 1");
  EXPECT_HEED_ERROR(dropout(x, {.first = -1}), ErrorCode::kInvalidArgument,
                    "dropout: first is -1, expected 0 or more");
}

}  // namespace heed
