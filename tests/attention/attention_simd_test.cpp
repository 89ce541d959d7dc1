// The SIMD kernels' promises beyond the table of cases: their candidates by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attention/api/checked.h"
#include "attention/backends.h"
#include "base/philox.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/compare.h"

namespace heed::attention_simd_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor normal(const Shape& shape, std::uint32_t stream) {
  Random random(7, stream);
  Tensor tensor = Tensor::empty(shape);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = static_cast<float>(random.normal());
  return tensor;
}

struct Kernel {
  const char* name;
  const char* candidate;
  DType dtype = DType::kF32;
};

class SimdAttention : public testing::TestWithParam<Kernel> {
 protected:
  // 3 batches, 4 heads over 2, 150 queries, 170 keys: ragged in every direction.
  Tensor q = normal({3, 4, 150, 40}, 1);
  Tensor k = normal({3, 2, 170, 40}, 2);
  Tensor v = normal({3, 2, 170, 24}, 3);

  void SetUp() override {
    const AttentionArgs wanted = args();
    const CheckedAttention checked(wanted);
    for (const auto& candidate : forward_candidates())
      if (candidate.name == wanted.kernel && !candidate.refusal(checked.problem).empty())
        GTEST_SKIP() << candidate.refusal(checked.problem);
  }
  void TearDown() override { set_thread_count(0); }

  Tensor typed(const Tensor& x) const { return Tensor::converted(x, GetParam().dtype); }
  AttentionArgs args(Mask mask = {}) {
    q_ = typed(q);
    k_ = typed(k);
    v_ = typed(v);
    return {.q = q_, .keys = {k_, v_}, .mask = std::move(mask), .kernel = GetParam().candidate};
  }
  static void set_row(Tensor& tensor, std::int64_t row, float value) {
    const std::int64_t width = tensor.dim(3);
    for (std::int64_t outer = 0; outer < tensor.dim(0) * tensor.dim(1); ++outer)
      std::fill_n(tensor.data<float>() + (outer * tensor.dim(2) + row) * width, width, value);
  }

 private:
  Tensor q_, k_, v_;
};

TEST_P(SimdAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  set_thread_count(1);
  const Attended one = attention(args(Mask::causal()));
  for (const int threads : {2, 3, 7}) {
    set_thread_count(threads);
    const Attended many = attention(args(Mask::causal()));
    EXPECT_TRUE(test::same_bits(many.out, one.out)) << threads;
    EXPECT_TRUE(test::same_bits(many.lse, one.lse)) << threads;
    EXPECT_TRUE(test::same_bits(many.lse_low, one.lse_low)) << threads;
  }
}

// Six (batch, key/value head) pairs: with two or more threads, key blocks run in parallel.
TEST_P(SimdAttention, GivesTheSameGradientBitsForAnyNumberOfThreads) {
  const Tensor dout = typed(normal({3, 4, 150, 24}, 4));
  const Attended attended = attention(args(Mask::causal()));
  set_thread_count(1);
  const AttentionGrads one = attention_backward(args(Mask::causal()), attended, dout);
  for (const int threads : {2, 3, 4, 7}) {
    set_thread_count(threads);
    const AttentionGrads many = attention_backward(args(Mask::causal()), attended, dout);
    EXPECT_TRUE(test::same_bits(many.dq, one.dq)) << threads;
    EXPECT_TRUE(test::same_bits(many.dk, one.dk)) << threads;
    EXPECT_TRUE(test::same_bits(many.dv, one.dv)) << threads;
  }
}

TEST_P(SimdAttention, ANumberThatIsNoneInACotangentReachesTheKeysOfItsRowAlone) {
  Tensor dout = normal({3, 4, 150, 24}, 4);
  const Attended attended = attention(args(Mask::causal()));
  const AttentionGrads finite = attention_backward(args(Mask::causal()), attended, typed(dout));
  set_row(dout, 70, kNan);  // sees keys 0 to 90
  const AttentionGrads found = attention_backward(args(Mask::causal()), attended, typed(dout));
  const auto same = [&](const Tensor& a, const Tensor& b, std::int64_t begin, std::int64_t end) {
    return test::same_bits(Tensor::copy_of(a.view().slice(2, begin, end)),
                           Tensor::copy_of(b.view().slice(2, begin, end)));
  };
  EXPECT_TRUE(std::isnan(test::values(found.dv)[90 * 24]));
  EXPECT_TRUE(same(found.dv, finite.dv, 91, 170));
  EXPECT_TRUE(same(found.dk, finite.dk, 91, 170));
  EXPECT_TRUE(same(found.dq, finite.dq, 0, 70));
  EXPECT_TRUE(same(found.dq, finite.dq, 71, 150));
}

TEST_P(SimdAttention, GivesASequenceTheSameBitsAloneAndInABatch) {
  const Attended all = attention(args(Mask::causal()));
  AttentionArgs alone = args(Mask::causal());
  alone.q = alone.q.slice(0, 1, 2);
  alone.keys = {alone.keys.k.slice(0, 1, 2), alone.keys.v.slice(0, 1, 2)};
  const Attended one = attention(alone);
  const Tensor expected = Tensor::copy_of(all.out.view().slice(0, 1, 2));
  EXPECT_TRUE(test::same_bits(one.out, expected));
}

// Few rows have their keys in the lanes (few_rows-inl.h): a decoder's step is a prompt's row.
TEST_P(SimdAttention, GivesFewRowsTheSameBitsAsManyRows) {
  for (const std::int64_t heads : {1, 2, 4}) {  // query heads of the first key/value head: 1 or 2
    for (const std::int64_t keys : {15, 40, 64, 81, 170}) {
      AttentionArgs many = args();
      many.q = many.q.slice(1, 0, heads);
      const std::int64_t kv_heads = std::max<std::int64_t>(1, heads / 2);
      many.keys = {many.keys.k.slice(1, 0, kv_heads).slice(2, 0, keys),
                   many.keys.v.slice(1, 0, kv_heads).slice(2, 0, keys)};
      const Attended all = attention(many);
      for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
        AttentionArgs few = many;
        few.q = few.q.slice(2, 70, 70 + rows);
        const Attended some = attention(few);
        const auto of_rows = [rows](const Tensor& tensor) {
          return Tensor::copy_of(tensor.view().slice(2, 70, 70 + rows));
        };
        EXPECT_TRUE(test::same_bits(some.out, of_rows(all.out))) << rows << " " << keys;
        EXPECT_TRUE(test::same_bits(some.lse, of_rows(all.lse))) << rows << " " << keys;
      }
    }
  }
}

// Keys are transposed by blocks of columns; the last block may repeat some.
TEST_P(SimdAttention, GivesFewRowsTheSameBitsForEveryHeadSize) {
  for (const std::int64_t size : {4, 8, 12, 16, 20, 24, 72, 80, 132, 136, 144, 264}) {
    q = normal({1, 2, 20, size}, 1);
    k = normal({1, 1, 100, size}, 2);
    v = normal({1, 1, 100, 32}, 3);
    const AttentionArgs many = args();
    const Attended all = attention(many);
    for (const std::int64_t rows : {1, 2, 4}) {  // of two heads each
      AttentionArgs few = many;
      few.q = few.q.slice(2, 9, 9 + rows);
      const Attended some = attention(few);
      const Tensor lse = Tensor::copy_of(all.lse.view().slice(2, 9, 9 + rows));
      EXPECT_TRUE(test::same_bits(some.lse, lse)) << size << " " << rows;
      const Tensor out = Tensor::copy_of(all.out.view().slice(2, 9, 9 + rows));
      EXPECT_TRUE(test::same_bits(some.out, out)) << size << " " << rows;
    }
  }
}

TEST_P(SimdAttention, GivesFewRowsTheGradientsOfTheReference) {
  const double allowed = GetParam().dtype == DType::kF32 ? 1e-4 : 0.1;
  for (const std::int64_t size : {16, 40, 64, 128}) {
    for (const std::int64_t rows : {1, 3, 8}) {
      q = normal({1, 2, rows, size}, 1);
      k = normal({1, 1, 100, size}, 2);
      v = normal({1, 1, 100, 32}, 3);
      const Tensor dout = typed(normal({1, 2, rows, 32}, 4));
      AttentionArgs few = args();
      const AttentionGrads found = attention_backward(few, attention(few), dout);
      few.kernel = "reference";
      const AttentionGrads expected = attention_backward(few, attention(few), dout);
      EXPECT_LT(test::distance(found.dq, expected.dq), allowed) << size << " " << rows;
      EXPECT_LT(test::distance(found.dk, expected.dk), allowed) << size << " " << rows;
      EXPECT_LT(test::distance(found.dv, expected.dv), allowed) << size << " " << rows;
    }
  }
}

// Also where a CPU multiplies bf16 in pairs, of rows that begin at any number.
TEST(SimdAttentionOfBf16, FewRowsHaveTheScoresOfF32) {
  for (const std::int64_t size : {8, 16, 24, 40, 72, 128})
    for (const std::int64_t beyond : {0, 1}) {
      const auto narrow = [&](const Shape& shape, std::uint32_t stream) {
        return Tensor::converted(normal(shape, stream), DType::kBF16);
      };
      const Tensor k = narrow({1, 2, 100, size + beyond}, 2), v = narrow({1, 2, 100, 24}, 3);
      const ConstView keys = ConstView(k).slice(3, beyond, beyond + size);
      const Tensor k_f32 = Tensor::converted(keys, DType::kF32);
      const Tensor v_f32 = Tensor::converted(v, DType::kF32);
      for (const std::int64_t heads : {2, 4})
        for (const std::int64_t rows : {1, 2, 3, 4}) {
          const Tensor q = narrow({1, heads, rows, size}, 1);
          const Tensor q_f32 = Tensor::converted(q, DType::kF32);
          const Scores scores = {.scale = {.25}};
          const Attended found = attention({.q = q, .keys = {keys, v}, .scores = scores});
          const Attended wanted = attention({.q = q_f32, .keys = {k_f32, v_f32}, .scores = scores});
          EXPECT_TRUE(test::same_bits(found.lse, wanted.lse)) << size << beyond << heads << rows;
        }
    }
}

TEST_P(SimdAttention, AMaskedKeyHasNoInfluenceEvenIfItIsNotANumber) {
  const Attended clean = attention(args(Mask::causal()));
  set_row(k, 169, kNan);  // only the last query sees the last key
  set_row(v, 169, kInfinity);
  const Attended poisoned = attention(args(Mask::causal()));
  const auto but_last = [](const Tensor& out) {
    return Tensor::copy_of(out.view().slice(2, 0, 149));
  };
  EXPECT_TRUE(test::same_bits(but_last(poisoned.out), but_last(clean.out)));
  EXPECT_TRUE(std::isnan(test::values(poisoned.out)[149 * 24]));
}

TEST_P(SimdAttention, ANumberThatIsNoneInAVisibleValueReachesItsRows) {
  set_row(v, 3, kNan);
  const Attended found = attention(args(Mask::causal()));
  for (const double out : test::values(found.out)) ASSERT_TRUE(std::isnan(out));
  EXPECT_TRUE(std::isfinite(found.lse.data<float>()[0]));
}

TEST_P(SimdAttention, ANumberThatIsNoneInAQueryReachesItsRowAlone) {
  const Attended clean = attention(args());
  set_row(q, 3, kNan);
  const Attended found = attention(args());
  const std::vector<double> out = test::values(found.out);
  for (std::int64_t row = 0; row < 12 * 150; ++row) {
    const bool poisoned = row % 150 == 3;
    ASSERT_EQ(std::isnan(found.lse.data<float>()[row]), poisoned) << row;
    for (std::int64_t d = 0; d < 24; ++d) ASSERT_EQ(std::isnan(out[row * 24 + d]), poisoned) << row;
  }
}

// One key is large, all others weigh the same: if added one by one in f32, their roundings all have
// the same sign, and the sum of 32,768 is off by 1e-4.
TEST_P(SimdAttention, ALongRowOfEqualWeightsIsExact) {
  constexpr std::int64_t kLength = 32'768;
  Tensor keys = Tensor::zeros({1, 1, kLength, 1});
  Tensor values = Tensor::empty({1, 1, kLength, 1});
  std::fill_n(values.data<float>(), kLength, 1.0F);
  Tensor query = Tensor::empty({1, 1, 9, 1});  // more rows than count as few
  std::fill_n(query.data<float>(), 9, 1.0F);
  const Tensor q16 = typed(query), v16 = typed(values);
  for (const float score : {1.1F, 3.3F}) {
    keys.data<float>()[0] = score;
    const Tensor k16 = typed(keys);
    const Attended found =
        attention({.q = q16, .keys = {k16, v16}, .kernel = GetParam().candidate});
    const double exact = std::log(std::exp(test::values(k16)[0]) + kLength - 1);
    const double lse = static_cast<double>(found.lse.data<float>()[0]) +
                       static_cast<double>(found.lse_low.data<float>()[0]);
    EXPECT_NEAR(lse, exact, 2e-6);
    EXPECT_NEAR(test::values(found.out)[0], 1, 2e-6);
  }
}

TEST_P(SimdAttention, PaddingIsNeverRead) {
  AttentionArgs padded = args();
  padded.extents = {.query_length = {100}, .key_begin = {5}, .key_length = {160}};
  const Attended clean = attention(padded);
  for (const std::int64_t row : {0, 1, 2, 3, 4, 165, 166, 167, 168, 169}) {
    set_row(k, row, kNan);
    set_row(v, row, kNan);
  }
  for (std::int64_t row = 100; row < 150; ++row) set_row(q, row, kNan);
  AttentionArgs poisoned = args();
  poisoned.extents = padded.extents;
  EXPECT_TRUE(test::same_bits(attention(poisoned).out, clean.out));
}

TEST_P(SimdAttention, ARowThatSeesNobodyIsZeroAndOneWithoutAFiniteScoreIsNan) {
  Tensor one = Tensor::empty({1, 1, 2, 4});
  std::fill_n(one.data<float>(), 8, 1.0f);
  Tensor keys = Tensor::empty({1, 1, 1, 4});
  std::fill_n(keys.data<float>(), 4, -kInfinity);
  Tensor kept = Tensor::zeros({2, 1}, DType::kBool);
  kept.data<bool>()[1] = true;
  const Tensor values = normal({1, 1, 1, 4}, 4);
  const Attended found = attention(
      {.q = one, .keys = {keys, values}, .mask = Mask::keep(kept), .kernel = GetParam().candidate});
  EXPECT_EQ(found.out.data<float>()[0], 0.0f);
  EXPECT_EQ(found.lse.data<float>()[0], -kInfinity);
  EXPECT_TRUE(std::isnan(found.out.data<float>()[4]));
  EXPECT_TRUE(std::isnan(found.lse.data<float>()[1]));
}

// The far keys hold NaN: a window that visited them unmasked would show it.
TEST_P(SimdAttention, AWindowReadsNothingBeyondItsKeys) {
  const Mask window = Mask::band({.left = 9, .right = 0});
  AttentionArgs last = args(window);
  last.q = last.q.slice(2, 140, 150);
  const Attended clean = attention(last);
  for (std::int64_t row = 0; row < 140; ++row) set_row(v, row, kNan);
  AttentionArgs poisoned = args(window);
  poisoned.q = poisoned.q.slice(2, 140, 150);
  EXPECT_TRUE(test::same_bits(attention(poisoned).out, clean.out));
}

const Kernel kKernels[] = {
    {"Avx512", "cpu-avx512"},
    {"Avx512Bf16", "cpu-avx512", DType::kBF16},  // multiplies in pairs on some CPUs
    {"Avx512F16", "cpu-avx512", DType::kF16},
    {"Avx2", "cpu-avx2"},
    {"Avx2F16", "cpu-avx2", DType::kF16},
    {"Portable", "portable"},  // NEON on ARM
};

INSTANTIATE_TEST_SUITE_P(Kernels, SimdAttention, testing::ValuesIn(kKernels),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

}  // namespace
}  // namespace heed::attention_simd_test
