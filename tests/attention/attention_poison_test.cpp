// NaN and infinity at invisible places change no bit; at visible places they propagate.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/attention.h"
#include "heed/mask.h"
#include "support/every_kernel.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"
#include "support/score_kinds.h"

namespace heed::attention_poison_test {
namespace {

using test::for_every_kernel;
using test::random_tensor;
using test::same_bits;

constexpr std::int64_t kQueries = 100;
constexpr std::int64_t kKeys = 130;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Poison : public testing::TestWithParam<test::ScoreKind> {
 protected:
  Tensor q = random_tensor({1, 2, kQueries, 8}, 1);
  Tensor k = random_tensor({1, 2, kKeys, 8}, 2);
  Tensor v = random_tensor({1, 2, kKeys, 8}, 3);
  Tensor dout = random_tensor({1, 2, kQueries, 8}, 4);
  Tensor bias = random_tensor({1, 2, kQueries, kKeys}, 5);
  Tensor slopes = random_tensor({2}, 6);

  // Row i sees the keys up to i.
  AttentionArgs args() const {
    AttentionArgs made = {
        .q = q, .keys = {k, v}, .extents = {.q_offset = {0}}, .mask = Mask::causal()};
    made.scores = GetParam().scores;
    made.scores.bias = bias;
    made.scores.alibi = slopes;
    if (GetParam().dropout != 0) made.dropout = Dropout{.rate = GetParam().dropout, .seed = 2};
    return made;
  }

  static void fill_rows(Tensor& tensor, std::int64_t begin, float value) {
    const std::int64_t width = tensor.dim(3);
    for (std::int64_t head = 0; head < 2; ++head)
      std::fill_n(tensor.data<float>() + (head * tensor.dim(2) + begin) * width,
                  (tensor.dim(2) - begin) * width, value);
  }

  // Poisons the invisible places.
  void hide(float poison) {
    fill_rows(k, kQueries, poison);
    fill_rows(v, kQueries, poison);
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        std::fill_n(bias.data<float>() + (h * kQueries + i) * kKeys + i + 1, kKeys - i - 1, poison);
  }

  static void put_back(const Tensor& kept, Tensor& tensor) {
    std::copy_n(kept.data<float>(), tensor.element_count(), tensor.data<float>());
  }
};

// Causal from the top left: keys from 100 on are visible to no query, and the pairs above the
// diagonal are hidden in tiles with visible pairs.
TEST_P(Poison, InKeysValuesAndBiasThatNobodySeesChangesNoBit) {
  const AttentionArgs problem = args();
  const AttentionGradRequest request = {.dbias = true, .dslope = true, .dscale = true};
  for_every_kernel(problem, [&](const AttentionArgs& each) {
    const Attended clean = attention(each);
    const AttentionGrads expected = attention_backward(each, clean, dout, request);
    const Tensor kept[] = {k.clone(), v.clone(), bias.clone()};
    for (const float poison : {kNaN, kInfinity, -kInfinity}) {
      hide(poison);
      const Attended found = attention(each);
      EXPECT_TRUE(same_bits(found.out, clean.out)) << poison;
      EXPECT_TRUE(same_bits(found.lse, clean.lse)) << poison;
      const AttentionGrads grads = attention_backward(each, found, dout, request);
      EXPECT_TRUE(same_bits(grads.dq, expected.dq)) << poison;
      EXPECT_TRUE(same_bits(grads.dk, expected.dk)) << poison;
      EXPECT_TRUE(same_bits(grads.dv, expected.dv)) << poison;
      EXPECT_TRUE(same_bits(grads.dbias, expected.dbias)) << poison;
      EXPECT_TRUE(same_bits(grads.dslope, expected.dslope)) << poison;
      EXPECT_TRUE(same_bits(grads.dscale, expected.dscale)) << poison;
    }
    put_back(kept[0], k);
    put_back(kept[1], v);
    put_back(kept[2], bias);
  });
}

// The last visible key is visible only to the last row.
TEST_P(Poison, OfOneRowReachesNoOtherRow) {
  for_every_kernel(args(), [&](const AttentionArgs& each) {
    const Attended clean = attention(each);
    const AttentionGrads expected = attention_backward(each, clean, dout);
    const Tensor kept_k = k.clone();
    const Tensor kept_v = v.clone();
    fill_rows(k, kQueries - 1, NAN);
    fill_rows(v, kQueries - 1, NAN);
    const Attended found = attention(each);
    const AttentionGrads grads = attention_backward(each, found, dout);
    const auto others = [](const Tensor& x) { return x.view().slice(2, 0, kQueries - 1); };
    EXPECT_TRUE(same_bits(others(found.out), others(clean.out)));
    EXPECT_TRUE(same_bits(others(grads.dq), others(expected.dq)));
    EXPECT_TRUE(std::isnan(found.out.data<float>()[kQueries * 8 - 1]));
    put_back(kept_k, k);
    put_back(kept_v, v);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Poison, testing::ValuesIn(test::score_kinds()),
                         testing::PrintToStringParamName());

// Before a window, in memory of every form: for i8, the scale holds the NaN.
TEST(PoisonInKeys, ThatNoWindowReachesChangesNoBit) {
  const Tensor q = random_tensor({1, 4, 3, 40}, 1);
  const Tensor dout = random_tensor({1, 4, 3, 24}, 2);
  const Tensor k = random_tensor({1, 2, kKeys, 40}, 3);
  const Tensor v = random_tensor({1, 2, kKeys, 24}, 4);
  Tensor poisoned_k = k.clone();
  Tensor poisoned_v = v.clone();
  for (Tensor* tensor : {&poisoned_k, &poisoned_v})  // of 130 keys, from 87 on are seen
    for (std::int64_t g = 0; g < 2; ++g)
      std::fill_n(tensor->data<float>() + g * kKeys * tensor->dim(3), 87 * tensor->dim(3), NAN);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI8}) {
    const test::HeldKeys clean = test::held_as(k, v, dtype);
    const test::HeldKeys dirty = test::held_as(poisoned_k, poisoned_v, dtype);
    AttentionArgs args = {
        .q = q, .keys = clean.keys(), .mask = Mask::band({.left = 40, .right = 0})};
    args.extents.key_length = {kKeys};
    for_every_kernel(args, [&](const AttentionArgs& each) {
      const Attended expected = attention(each);
      const AttentionGradRequest request = {.dk = false, .dv = false};
      const Tensor dq = std::move(attention_backward(each, expected, dout, request).dq);
      for (const test::HeldKeys& held :
           {test::paged(dirty, 16, {kKeys}), test::ring(dirty, 140, {99}, {kKeys})}) {
        AttentionArgs found = each;
        found.keys = held.keys();
        const Attended attended = attention(found);
        EXPECT_TRUE(same_bits(attended.out, expected.out));
        EXPECT_TRUE(same_bits(attention_backward(found, attended, dout, request).dq, dq));
      }
    });
  }
}

}  // namespace
}  // namespace heed::attention_poison_test
