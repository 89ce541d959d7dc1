// The columns of masks and biases, whatever slots the keys are in.
#include <gtest/gtest.h>

#include <limits>

#include "heed/attention.h"
#include "heed/mask.h"
#include "support/every_kernel.h"
#include "support/expect_error.h"
#include "support/key_forms.h"

namespace heed {
namespace {

// Queries of zeros weigh every visible key alike, and a key's value is its number `index(slot)`.
template <typename Index>
Tensor numbered(const Shape& shape, const Index& index) {
  Tensor v = Tensor::empty(shape);
  for (std::int64_t i = 0; i < v.element_count(); ++i)
    v.data<float>()[i] = static_cast<float>(index(i % v.dim(-2)));
  return v;
}

// Four slots, the first two of which are padding: keys 0 and 1 are in slots 2 and 3.
class LeftPadding : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({1, 1, 1, 1});
  Tensor k = Tensor::zeros({1, 1, 4, 1});
  Tensor v = numbered({1, 1, 4, 1}, [](std::int64_t slot) { return slot; });
  AttentionArgs args = {.q = q, .keys = {k, v}, .extents = {.key_begin = {2}}};

  void expect_slot(float slot) const {
    test::for_every_kernel(args, [&](const AttentionArgs& each) {
      EXPECT_EQ(attention(each).out.data<float>()[0], slot);
    });
  }
};

TEST_F(LeftPadding, AColumnOfKeepIsAKeyAndNotASlot) {
  const bool first[] = {true, false, true, true};
  args.mask = Mask::keep(ConstView(first, DType::kBool, {1, 4}));
  expect_slot(2);
}

TEST_F(LeftPadding, AColumnOfABiasIsAKeyAndNotASlot) {
  const float second[] = {-std::numeric_limits<float>::infinity(), 0, 0, 0};
  args.scores.bias = ConstView(second, DType::kF32, {1, 4});
  expect_slot(3);
}

// Two sequences of 2 and 3 queries and of 4 and 1 keys.
class PackedColumns : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({1, 5, 1});
  Tensor k = Tensor::zeros({1, 5, 1});
  Tensor v = numbered({1, 5, 1}, [](std::int64_t row) { return row; });
  AttentionArgs args = {
      .q = q, .keys = {k, v}, .extents = {.query_starts = {0, 2, 5}, .key_starts = {0, 4, 5}}};
};

TEST_F(PackedColumns, OfKeepReachToTheLongestSequence) {
  Tensor visible = Tensor::zeros({2, 1, 3, 4}, DType::kBool);  // [B, H, longest, longest]
  visible.data<bool>()[3] = true;                              // first: row 0 sees key 3
  visible.data<bool>()[12 + 8] = true;                         // second: row 2 sees key 0
  args.mask = Mask::keep(visible);
  test::for_every_kernel(args, [](const AttentionArgs& each) {
    const Tensor out = attention(each).out;
    EXPECT_EQ(out.data<float>()[0], 3);
    EXPECT_EQ(out.data<float>()[1], 0);
    EXPECT_EQ(out.data<float>()[4], 4);
  });
}

TEST_F(PackedColumns, OfAllSequencesTogetherAreRefused) {
  const Tensor bias = Tensor::zeros({5, 5});
  args.scores.bias = bias;
  EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument,
                    "attention: scores.bias.shape is [5, 5], expected one that broadcasts to [B, "
                    "H, Tq, Tk] = [2, 1, 3, 4]");
}

// Three pages of 4 slots a row for 5 and 2 keys.
TEST(PagedColumns, ReachToTheLongestRow) {
  const Tensor q = Tensor::zeros({2, 1, 1, 1});
  const Tensor k = Tensor::zeros({2, 1, 9, 1});
  const Tensor v = numbered(k.shape(), [](std::int64_t slot) { return slot; });
  const test::HeldKeys pages = test::paged(test::held_as(k, v, DType::kF32), 4, {5, 2});
  const bool visible[] = {false, true, false, false, false};
  const AttentionArgs args = {.q = q,
                              .keys = pages.keys(),
                              .extents = {.key_length = {5, 2}},
                              .mask = Mask::keep(ConstView(visible, DType::kBool, {1, 5}))};
  test::for_every_kernel(args, [](const AttentionArgs& each) {
    EXPECT_EQ(attention(each).out.data<float>()[0], 1);
    EXPECT_EQ(attention(each).out.data<float>()[1], 1);
  });
}

}  // namespace
}  // namespace heed
