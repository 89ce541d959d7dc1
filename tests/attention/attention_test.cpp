// The meaning of attention, one fact per test, for every kernel.
#include "heed/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/compare.h"
#include "support/every_kernel.h"

namespace heed::attention_test {
namespace {

using test::distance;
using test::for_every_kernel;
using test::same_bits;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor normal(const Shape& shape, std::uint32_t stream, DType dtype = DType::kF32) {
  Random random(5, stream);
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<double>()[i] = random.normal();
  return Tensor::converted(tensor, dtype);
}

TEST(Attention, WeighsValuesByTheSoftmaxOfScores) {
  const float q[] = {2, 0};
  const float k[] = {0, 1, 1, 0};
  const float v[] = {10, 20};
  const AttentionArgs args = {
      .q = ConstView(q, DType::kF32, {1, 1, 1, 2}),
      .keys = {ConstView(k, DType::kF32, {1, 1, 2, 2}), ConstView(v, DType::kF32, {1, 1, 2, 1})},
      .scores = {.scale = {0.5}}};
  for_every_kernel(args, [](const AttentionArgs& each) {  // scores 0 and 1
    const Attended found = attention(each);
    EXPECT_NEAR(found.out.data<float>()[0], (10 + 20 * M_E) / (1 + M_E), 1e-5);
    EXPECT_NEAR(found.lse.data<float>()[0], std::log(1 + M_E), 1e-6);
  });
}

TEST(Attention, ARowThatMayAttendToNobodyIsZero) {
  const Tensor x = normal({1, 2, 70, 8}, 1);
  const AttentionArgs args = {
      .q = x, .keys = {x, x}, .extents = {.q_offset = {-3}}, .mask = Mask::causal()};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    for (int i = 0; i < 3 * 8; ++i) EXPECT_EQ(found.out.data<float>()[i], 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(found.lse.data<float>()[i], -kInfinity);
    EXPECT_NE(found.lse.data<float>()[3], -kInfinity);
    const AttentionGrads grads = attention_backward(each, found, x, {.dlse = found.lse_low});
    for (int i = 0; i < 3 * 8; ++i) EXPECT_EQ(grads.dq.data<float>()[i], 0);
  });
}

TEST(Attention, AnAllowedRowOfMinusInfinityOrWithPlusInfinityIsNaN) {
  for (const float value : {kInfinity, -kInfinity}) {
    Tensor q = Tensor::zeros({1, 1, 2, 1});
    q.data<float>()[0] = q.data<float>()[1] = 1;
    Tensor k = Tensor::zeros({1, 1, 3, 1});
    for (int j = 0; j < 3; ++j) k.data<float>()[j] = value;
    for_every_kernel({.q = q, .keys = {k, k}}, [](const AttentionArgs& each) {
      const Attended found = attention(each);
      EXPECT_TRUE(std::isnan(found.out.data<float>()[0]));
      EXPECT_TRUE(std::isnan(found.lse.data<float>()[0]));
    });
  }
}

TEST(Attention, PaddingRowsAreZeroAndPaddingIsNeverRead) {
  Tensor q = normal({1, 1, 90, 8}, 1);
  Tensor k = normal({1, 1, 90, 8}, 2);
  Tensor v = normal({1, 1, 90, 8}, 3);
  Tensor dout = normal({1, 1, 90, 8}, 4);
  for (Tensor* tensor : {&q, &dout})
    for (int i = 70 * 8; i < 90 * 8; ++i) tensor->data<float>()[i] = kNaN;
  for (Tensor* tensor : {&k, &v})
    for (int i = 0; i < 90 * 8; ++i)
      if (i < 5 * 8 || i >= 71 * 8) tensor->data<float>()[i] = kNaN;
  const AttentionArgs args = {
      .q = q,
      .keys = {k, v},
      .extents = {.query_length = {70}, .key_begin = {5}, .key_length = {66}}};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    for (int i = 0; i < 90 * 8; ++i) EXPECT_EQ(found.out.data<float>()[i] == 0, i >= 70 * 8);
    for (int i = 70; i < 90; ++i) EXPECT_EQ(found.lse.data<float>()[i], -kInfinity);
    const AttentionGrads grads = attention_backward(each, found, dout);
    for (int i = 0; i < 90 * 8; ++i) {
      const bool key_exists = i >= 5 * 8 && i < 71 * 8;
      EXPECT_EQ(grads.dq.data<float>()[i] == 0, i >= 70 * 8);
      EXPECT_EQ(grads.dk.data<float>()[i] == 0, !key_exists);
      EXPECT_EQ(grads.dv.data<float>()[i] == 0, !key_exists);
      EXPECT_FALSE(std::isnan(grads.dk.data<float>()[i] + grads.dv.data<float>()[i]));
    }
  });
}

// NaN in the last key and value, which only the last row sees: no other row changes.
TEST(Attention, AMaskedKeyHasNoInfluenceEvenIfItIsNaN) {
  constexpr int kLength = 100;
  constexpr int kDim = 8;
  const Tensor q = normal({1, 1, kLength, kDim}, 1);
  const Tensor clean_k = normal({1, 1, kLength, kDim}, 2);
  const Tensor clean_v = normal({1, 1, kLength, kDim}, 3);
  const Tensor dout = normal({1, 1, kLength, kDim}, 4);
  for (const float poison : {kNaN, kInfinity}) {
    Tensor k = clean_k.clone();
    Tensor v = clean_v.clone();
    for (int d = 0; d < kDim; ++d)
      k.data<float>()[(kLength - 1) * kDim + d] = v.data<float>()[(kLength - 1) * kDim + d] =
          poison;
    const AttentionArgs clean = {.q = q, .keys = {clean_k, clean_v}, .mask = Mask::causal()};
    for_every_kernel(clean, [&](AttentionArgs each) {
      const Attended expected = attention(each);
      const AttentionGrads expected_grads = attention_backward(each, expected, dout);
      each.keys = {k, v};
      const Attended found = attention(each);
      const AttentionGrads grads = attention_backward(each, found, dout);
      const auto but_last = [](const Tensor& x) { return x.view().slice(2, 0, kLength - 1); };
      EXPECT_LE(distance(but_last(found.out), but_last(expected.out)), 1e-6);
      EXPECT_LE(distance(but_last(grads.dq), but_last(expected_grads.dq)), 1e-6);
      EXPECT_TRUE(std::isnan(found.out.data<float>()[kLength * kDim - 1]));  // allowed: propagates
    });
  }
}

// NaN in query and cotangent of the first row, which sees the first key only.
TEST(Attention, ARowOfNaNReachesOnlyTheKeysThatItSees) {
  constexpr int kLength = 100;
  constexpr int kDim = 8;
  Tensor q = normal({1, 1, kLength, kDim}, 1);
  Tensor dout = normal({1, 1, kLength, kDim}, 4);
  const Tensor kv = normal({1, 1, kLength, kDim}, 2);
  for (int d = 0; d < kDim; ++d) q.data<float>()[d] = dout.data<float>()[d] = kNaN;
  const AttentionArgs args = {.q = q, .keys = {kv, kv}, .mask = Mask::causal()};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const AttentionGrads grads = attention_backward(each, attention(each), dout);
    for (int i = 0; i < kLength * kDim; ++i) {
      EXPECT_EQ(std::isnan(grads.dk.data<float>()[i]), i < kDim) << i;
      EXPECT_EQ(std::isnan(grads.dv.data<float>()[i]), i < kDim) << i;
      EXPECT_EQ(std::isnan(grads.dq.data<float>()[i]), i < kDim) << i;
    }
  });
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  const Tensor q = normal({2, 4, 200, 16}, 1);
  const Tensor k = normal({2, 2, 200, 16}, 2);
  const Tensor v = normal({2, 2, 200, 16}, 3);
  const Tensor dout = normal({2, 4, 200, 16}, 4);
  for_every_kernel(
      {.q = q, .keys = {k, v}, .mask = Mask::causal()}, [&](const AttentionArgs& each) {
        set_thread_count(1);
        const Attended one = attention(each);
        const AttentionGrads one_grads = attention_backward(each, one, dout);
        for (const int threads : {2, 3, 7}) {
          set_thread_count(threads);
          const Attended many = attention(each);
          const AttentionGrads grads = attention_backward(each, many, dout);
          EXPECT_TRUE(same_bits(one.out, many.out) && same_bits(one.lse, many.lse) &&
                      same_bits(one.lse_low, many.lse_low));
          EXPECT_TRUE(same_bits(one_grads.dq, grads.dq) && same_bits(one_grads.dk, grads.dk) &&
                      same_bits(one_grads.dv, grads.dv));
        }
        set_thread_count(0);
      });
}

TEST(Attention, GivesASequenceTheSameBitsWhateverElseIsInTheBatch) {
  const Tensor q = normal({5, 2, 130, 16}, 1);
  const Tensor kv = normal({5, 2, 130, 16}, 2);
  const Tensor dout = normal({5, 2, 130, 16}, 3);
  const AttentionArgs args = {.q = q,
                              .keys = {kv, kv},
                              .extents = {.query_length = {130, 7, 90, 130, 1},
                                          .key_begin = {0, 20, 3, 1, 129},
                                          .key_length = {130, 64, 90, 129, 1}},
                              .mask = Mask::band({.left = 70, .right = 0})};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended all = attention(each);
    const AttentionGrads all_grads = attention_backward(each, all, dout);
    AttentionArgs alone = each;
    const auto second = [](const ConstView& x) { return x.slice(0, 2, 3); };
    alone.q = second(q).slice(2, 0, 90);
    alone.keys = {second(kv).slice(2, 3, 93), second(kv).slice(2, 3, 93)};
    alone.extents = {};
    const Attended one = attention(alone);
    const AttentionGrads grads = attention_backward(alone, one, second(dout).slice(2, 0, 90));
    const auto part = [&](const Tensor& x, std::int64_t begin) {
      return Tensor::copy_of(second(x).slice(2, begin, begin + 90));
    };
    EXPECT_TRUE(same_bits(one.out, part(all.out, 0)) && same_bits(one.lse, part(all.lse, 0)));
    EXPECT_TRUE(same_bits(grads.dq, part(all_grads.dq, 0)) &&
                same_bits(grads.dk, part(all_grads.dk, 3)) &&
                same_bits(grads.dv, part(all_grads.dv, 3)));
  });
}

TEST(Attention, WritesIntoMemoryOfTheCaller) {
  const Tensor x = normal({2, 3, 70, 8}, 1);
  Tensor tokens = Tensor::zeros({2, 70, 3, 8});  // [B, T, H, D]
  Tensor lse = Tensor::zeros({2, 3, 70});
  Tensor low = Tensor::zeros({2, 3, 70});
  for_every_kernel({.q = x, .keys = {x, x}}, [&](const AttentionArgs& each) {
    const Attended expected = attention(each);
    attention(each, {tokens.view().permute({0, 2, 1, 3}), lse, low});
    EXPECT_EQ(distance(tokens.view().permute({0, 2, 1, 3}), expected.out), 0);
    EXPECT_TRUE(same_bits(lse, expected.lse) && same_bits(low, expected.lse_low));
    Tensor dqkv = Tensor::zeros({2, 70, 9, 8});  // interleaved
    const View heads = dqkv.view().permute({0, 2, 1, 3});
    const AttentionGrads wanted = attention_backward(each, expected, x);
    const AttentionGrads none = attention_backward(each, expected, x,
                                                   {.dq_into = heads.slice(1, 0, 3),
                                                    .dk_into = heads.slice(1, 3, 6),
                                                    .dv_into = heads.slice(1, 6, 9)});
    EXPECT_FALSE(none.dq.given() || none.dk.given() || none.dv.given());
    EXPECT_EQ(distance(heads.slice(1, 0, 3), wanted.dq), 0);
    EXPECT_EQ(distance(heads.slice(1, 3, 6), wanted.dk), 0);
    EXPECT_EQ(distance(heads.slice(1, 6, 9), wanted.dv), 0);
  });
}

TEST(Attention, GivesTheGradientsThatAreAskedFor) {
  const Tensor x = normal({1, 2, 70, 8}, 1);
  for_every_kernel(
      {.q = x, .keys = {x, x}, .mask = Mask::causal()}, [&](const AttentionArgs& each) {
        const Attended attended = attention(each);
        const AttentionGrads all = attention_backward(each, attended, x);
        const AttentionGrads dk = attention_backward(each, attended, x, {.dq = false, .dv = false});
        EXPECT_FALSE(dk.dq.given() || dk.dv.given());
        EXPECT_TRUE(same_bits(dk.dk, all.dk));
        const AttentionGrads dq = attention_backward(each, attended, x, {.dk = false, .dv = false});
        EXPECT_TRUE(same_bits(dq.dq, all.dq));
      });
}

TEST(Attention, TakesOneScaleAHead) {
  const Tensor x = normal({1, 2, 9, 4}, 1);
  for_every_kernel({.q = x, .keys = {x, x}}, [&](AttentionArgs each) {
    each.scores.scale = {0.25, 2};
    const Attended both = attention(each);
    each.scores.scale = {2};
    const Attended second = attention(each);
    EXPECT_EQ(distance(both.out.view().slice(1, 1, 2), second.out.view().slice(1, 1, 2)), 0);
    EXPECT_GT(distance(both.out.view().slice(1, 0, 1), second.out.view().slice(1, 0, 1)), 0.01);
  });
}

}  // namespace
}  // namespace heed::attention_test
