#include <gtest/gtest.h>

#include "hwy/highway.h"
#include "simd/mask_lanes-inl.h"

namespace heed {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Bit i of the word is row i, whichever vector it is in.
template <typename Tag>
void expect_rows_of_word(Tag tag) {
  constexpr std::uint64_t kWord = 0x8421'f35a'9c0e'6b17;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t row = 0; row < 64; row += lanes) {
    std::uint64_t found = 0;
    hn::StoreMaskBits(tag, kernels::HWY_NAMESPACE::mask_lanes(tag, kWord, row),
                      reinterpret_cast<std::uint8_t*>(&found));
    EXPECT_EQ(found, kWord >> row & ((std::uint64_t{1} << lanes) - 1)) << lanes << " at " << row;
  }
}

TEST(MaskLanes, AreTheBitsOfTheirRowsInVectorsOfAnyLength) {
  expect_rows_of_word(hn::CappedTag<double, 2>());
  expect_rows_of_word(hn::CappedTag<float, 2>());
  expect_rows_of_word(hn::CappedTag<float, 4>());
  expect_rows_of_word(hn::ScalableTag<double>());
  expect_rows_of_word(hn::ScalableTag<float>());
}

}  // namespace
}  // namespace heed
