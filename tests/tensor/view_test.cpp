#include <gtest/gtest.h>

#include <numeric>

#include "heed/tensor.h"
#include "support/expect_error.h"
#include "tensor/views.h"

namespace heed {

Tensor counting(const Shape& shape) {
  Tensor tensor = Tensor::empty(shape);
  std::iota(tensor.data<float>(), tensor.data<float>() + tensor.element_count(), 0.0F);
  return tensor;
}

TEST(View, AnInterleavedProjectionIsAView) {
  const Tensor qkv = counting({2, 3, 24});  // [B, T, 3 C], 2 heads of 4
  const ConstView k = qkv.view().slice(2, 8, 16);
  const ConstView heads =
      ConstView(k.raw(), k.dtype(), {2, 3, 2, 4}, {72, 24, 4, 1}).permute({0, 2, 1, 3});
  const Tensor copy = Tensor::copy_of(heads);  // [B, H, T, D]
  EXPECT_EQ(copy.shape(), (Shape{2, 2, 3, 4}));
  EXPECT_EQ(copy.data<float>()[((1 * 2 + 1) * 3 + 2) * 4 + 3], 1 * 72 + 2 * 24 + 8 + 4 + 3);
}

TEST(View, BroadcastsByStrideZero) {
  const Tensor row = counting({1, 3});
  const ConstView wide = row.view().broadcast_to({2, 4, 3});
  EXPECT_EQ(wide.stride(0), 0);
  EXPECT_EQ(wide.stride(1), 0);
  EXPECT_EQ(wide.stride(2), 1);
}

TEST(View, SaysWhatDoesNotFit) {
  const Tensor tensor = counting({2, 3});
  EXPECT_HEED_ERROR(tensor.view().slice(1, 2, 5), ErrorCode::kInvalidArgument,
                    "view: slice is [2, 5), expected at most [0, 3) (axis 1 of [2, 3])");
  EXPECT_HEED_ERROR(tensor.view().data<double>(), ErrorCode::kInvalidArgument,
                    "view: dtype is f32, expected f64, which was asked for");
}

TEST(View, APermutationHasEveryAxisOnce) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_HEED_ERROR(x.view().permute({0, 1, 1}), ErrorCode::kInvalidArgument,
                    "view: order is [0, 1, 1], expected every axis once");
  EXPECT_HEED_ERROR(x.view().permute({2, -1, 0}), ErrorCode::kInvalidArgument,
                    "view: order is [2, -1, 0], expected every axis once");
}

TEST(View, ANegativeExtentIsRefused) {
  const Tensor x = counting({2, 3});
  EXPECT_HEED_ERROR(ConstView(x.view().raw(), DType::kF32, {2, -1, 3}), ErrorCode::kInvalidArgument,
                    "view: shape is [2, -1, 3], expected extents of 0 or more");
  EXPECT_HEED_ERROR(ConstView(x.view().raw(), DType::kF32, {-2, 3}, {3, 1}),
                    ErrorCode::kInvalidArgument,
                    "view: shape is [-2, 3], expected extents of 0 or more");
  EXPECT_HEED_ERROR(x.view().reshape({-2, -3}), ErrorCode::kInvalidArgument,
                    "view: shape is [-2, -3], expected extents of 0 or more");
}

TEST(Tensor, AMovedTensorIsNoTensor) {
  Tensor first = counting({4});
  const Tensor second = std::move(first);
  EXPECT_FALSE(first.given());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.data<float>()[3], 3.0F);
}

TEST(KeptView, HasTheSameElementsAndSharesMemoryWhereTheyDo) {
  const Tensor numbers = counting({2, 6});
  // By distance: cell [h, i, j] is number j - i + 2 of row h.
  const ConstView cells(numbers.data<float>() + 2, DType::kF32, {2, 3, 4}, {6, -1, 1});
  const KeptView copy = kept(cells);
  EXPECT_EQ(copy.memory.element_count(), 12);
  EXPECT_NE(copy.memory.data<float>(), numbers.data<float>());
  const Tensor wanted = Tensor::copy_of(cells), got = Tensor::copy_of(copy.view);
  for (std::int64_t i = 0; i < wanted.element_count(); ++i)
    EXPECT_EQ(got.data<float>()[i], wanted.data<float>()[i]);
  EXPECT_EQ(kept(numbers.view().broadcast_to({5, 2, 6})).memory.element_count(), 12);
}

TEST(KeptView, LeavesOutWhatAViewSkips) {
  const Tensor numbers = counting({4, 6});
  const KeptView copy = kept(numbers.view().slice(1, 1, 3));
  EXPECT_EQ(copy.memory.shape(), (Shape{4, 2}));
  EXPECT_EQ(copy.view.data<float>()[2], 7.0F);
  EXPECT_FALSE(kept({}).view.given());
}

TEST(Tensor, SharingIsTheSameMemoryAndOutlivesTheFirstOwner) {
  Tensor first = counting({4});
  const float* memory = first.data<float>();
  const Tensor second = first.share();
  first = Tensor();
  EXPECT_EQ(second.data<float>(), memory);
  EXPECT_EQ(second.data<float>()[3], 3.0F);
}

}  // namespace heed
