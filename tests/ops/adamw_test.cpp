#include "ops/kernels/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"
#include "ops/kernels/reference/operators.h"

namespace heed::kernels {
namespace {

template <typename T>
struct State {
  std::vector<T> value, gradient, first, second;

  AdamWPiece<T> piece() {
    return {value.data(), gradient.data(), first.data(), second.data(),
            static_cast<std::int64_t>(value.size())};
  }
};

// The same numbers in both types, so that the difference is that of the arithmetic.
void fill(State<float>& narrow, State<double>& wide, std::size_t count) {
  Random random(11);
  for (std::size_t i = 0; i < count; ++i) {
    narrow.value.push_back(static_cast<float>(random.normal()));
    narrow.gradient.push_back(static_cast<float>(random.normal()));
    narrow.first.push_back(static_cast<float>(random.normal()));
    narrow.second.push_back(random.uniform());
  }
  wide.value.assign(narrow.value.begin(), narrow.value.end());
  wide.gradient.assign(narrow.gradient.begin(), narrow.gradient.end());
  wide.first.assign(narrow.first.begin(), narrow.first.end());
  wide.second.assign(narrow.second.begin(), narrow.second.end());
}

class AdamWKernel : public testing::TestWithParam<std::size_t> {};

TEST_P(AdamWKernel, FollowsTheReference) {
  State<float> narrow;
  State<double> wide;
  fill(narrow, wide, GetParam());
  adamw(narrow.piece(), {0.5F, 0.99F, 0.875F, 0.75F, 0.125F, 1.5F, 1e-4F});
  reference::adamw(wide.piece(), {0.5, 0.99F, 0.875, 0.75, 0.125, 1.5, 1e-4F});
  for (std::size_t i = 0; i < GetParam(); ++i) {
    EXPECT_NEAR(narrow.value[i], wide.value[i], 2e-6) << i;
    EXPECT_NEAR(narrow.first[i], wide.first[i], 5e-7) << i;
    EXPECT_NEAR(narrow.second[i], wide.second[i], 5e-7) << i;
  }
}

TEST_P(AdamWKernel, SumsSquaresAsTheReference) {
  State<float> narrow;
  State<double> wide;
  fill(narrow, wide, GetParam());
  const auto count = static_cast<std::int64_t>(GetParam());
  const double expected = reference::sum_of_squares(wide.value.data(), count);
  EXPECT_NEAR(sum_of_squares(narrow.value.data(), count), expected, 1e-14 * (1 + expected) * 100);
}

INSTANTIATE_TEST_SUITE_P(Counts, AdamWKernel, testing::Values(0, 1, 3, 16, 17, 63, 64, 1000));

// An element's update must not depend on its place: a resumed or differently cut run is the same.
TEST(AdamWKernelTail, GivesTheBitsOfWholeVectors) {
  State<float> whole;
  State<double> unused;
  fill(whole, unused, 64);
  State<float> part = whole;
  const AdamWUpdate<float> update{0.7F, 0.999F, 0.9F, 0.99F, 0.01F, 1.1F, 1e-8F};
  adamw(whole.piece(), update);
  AdamWPiece<float> short_piece = part.piece();
  short_piece.count = 61;
  adamw(short_piece, update);
  for (std::size_t i = 48; i < 61; ++i) EXPECT_EQ(part.value[i], whole.value[i]) << i;
}

TEST(AdamWKernelTail, ANotANumberReachesTheSumOfSquares) {
  const std::vector<float> values = {1, 2, NAN, 4};
  EXPECT_TRUE(std::isnan(sum_of_squares(values.data(), 4)));
}

}  // namespace
}  // namespace heed::kernels
