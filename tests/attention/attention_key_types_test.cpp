// Pages shared by rows, different types of keys and values, and the plan's text about them.
#include <gtest/gtest.h>

#include "heed/attention.h"
#include "support/every_kernel.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::for_every_kernel;
using test::HeldKeys;
using test::random_tensor;
using test::same_bits;

// Prefixes shared by rows are pages that occur in two rows of the table.
TEST(Pages, MayBeSharedByRows) {
  const Tensor k = random_tensor({4, 1, 8, 16}, 1);
  const Tensor v = random_tensor({4, 1, 8, 16}, 2);
  const Tensor q = random_tensor({2, 1, 1, 16}, 3);
  const std::int32_t entries[] = {2, 0, 2, 3};
  const ConstView table(entries, DType::kI32, {2, 2});
  const Extents all = {.key_length = {16}};
  const Attended found =
      attention({.q = q, .keys = {.k = k, .v = v, .page_table = table}, .extents = all});
  for (std::int64_t b = 0; b < 2; ++b) {
    const std::int32_t own[] = {2, b == 0 ? 0 : 3};
    const Attended one =
        attention({.q = q.view().slice(0, b, b + 1),
                   .keys = {.k = k, .v = v, .page_table = ConstView(own, DType::kI32, {1, 2})},
                   .extents = all});
    EXPECT_TRUE(same_bits(one.out, found.out.view().slice(0, b, b + 1)));
  }
}

// One of k and v may be i8 and the other 16 bit.
TEST(KeyTypes, KeysAndValuesNeedNotAgree) {
  const Tensor q = random_tensor({1, 2, 3, 32}, 1);
  const Quantised k = quantise(random_tensor({1, 2, 70, 32}, 2));
  const Tensor v = random_tensor({1, 2, 70, 32}, 3, DType::kF16);
  const Tensor k32 = dequantise(k.values, k.scales);
  const Tensor v32 = Tensor::converted(v, DType::kF32);
  AttentionArgs args = {.q = q, .keys = {.k = k.values, .v = v, .k_scales = k.scales}};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    AttentionArgs wide = each;
    wide.keys = {k32, v32};
    EXPECT_TRUE(same_bits(attention(each).out, attention(wide).out));
  });
}

TEST(KeyTypes, TheFastKernelsTakeThemUnderQueriesOfF32) {
  const Tensor q = random_tensor({1, 2, 3, 32}, 1);
  const Tensor kv = random_tensor({1, 2, 70, 32}, 2);
  const std::string fastest = plan_attention({.q = q, .keys = {kv, kv}}).kernel;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    const HeldKeys pages = test::paged(test::held_as(kv, kv, dtype), 16, {70});
    AttentionArgs args = {.q = q, .keys = pages.keys()};
    args.extents.key_length = {70};
    EXPECT_EQ(plan_attention(args).kernel, fastest);
  }
}

TEST(Pages, ThePlanCountsTheKeysThatRowsHold) {
  const Tensor q = random_tensor({1, 2, 1, 32}, 1);
  const Tensor kv = random_tensor({1, 1, 70, 32}, 2);
  const HeldKeys held = test::held_as(kv, kv, DType::kI8);
  const HeldKeys pages = test::paged(held, 16, {70});
  AttentionArgs args = {.q = q, .keys = pages.keys()};
  args.extents.key_length = {70};
  const Plan plan = plan_attention(args);
  EXPECT_EQ(plan.bytes, plan_attention({.q = q, .keys = held.keys()}).bytes);
  EXPECT_EQ(plan.bytes, 2 * 32 * 4 * 2 + 2 * 70 * (32 + 4) + 2 * 2 * 4);
  EXPECT_EQ(plan.allowed_pairs, 2 * 70);
}

}  // namespace
}  // namespace heed
