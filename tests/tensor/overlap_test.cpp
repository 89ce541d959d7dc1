#include <gtest/gtest.h>

#include "heed/tensor.h"
#include "tensor/views.h"

namespace heed {
namespace {

TEST(Overlap, InterleavedHeadsOverlapInRangeOnly) {
  Tensor qkv = Tensor::zeros({2, 3, 24});  // [B, T, 3 C]
  const auto heads = [&](std::int64_t part) { return qkv.view().slice(2, 8 * part, 8 * part + 8); };
  EXPECT_FALSE(overlap(heads(0), heads(1)));
  EXPECT_FALSE(overlap(heads(2), heads(1)));
  EXPECT_TRUE(overlap(heads(1), heads(1)));
  EXPECT_TRUE(overlap(qkv.view().slice(2, 7, 9), heads(0)));
}

TEST(Overlap, ViewsOfDifferentLayoutAreCompared) {
  Tensor memory = Tensor::zeros({6, 6});
  const View all = memory;
  EXPECT_TRUE(overlap(all.permute({1, 0}).slice(0, 0, 1), all.slice(0, 3, 4)));
  EXPECT_FALSE(overlap(all.slice(0, 0, 3), all.permute({1, 0}).slice(1, 3, 6)));
}

TEST(Overlap, AnEmptyViewMeetsNothing) {
  Tensor memory = Tensor::zeros({6});
  EXPECT_FALSE(overlap(memory.view().slice(0, 2, 2), memory));
}

TEST(Overlap, AViewThatRepeatsItselfIsFound) {
  Tensor memory = Tensor::zeros({64});
  EXPECT_TRUE(overlaps_itself(ConstView(memory.data<float>(), DType::kF32, {4, 4}, {0, 1})));
  EXPECT_TRUE(overlaps_itself(ConstView(memory.data<float>(), DType::kF32, {4, 4}, {2, 1})));
  EXPECT_TRUE(overlaps_itself(ConstView(memory.data<float>(), DType::kF32, {3, 3}, {3, 2})) ==
              false);
  EXPECT_FALSE(overlaps_itself(ConstView(memory.data<float>(), DType::kF32, {4, 4}, {1, 4})));
  EXPECT_FALSE(overlaps_itself(ConstView(memory.data<float>(), DType::kF32, {1, 4}, {0, 1})));
}

}  // namespace
}  // namespace heed
