// Merging attention over parts of the keys gives attention over all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/compare.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed::merge_test {
namespace {

using test::random_tensor;

constexpr std::int64_t kQueries = 70;
constexpr std::int64_t kKeys = 150;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttendedConstView view_of(const Attended& attended) {
  return {attended.out, attended.lse, attended.lse_low};
}

// 4 heads over 2. Row i sees the keys up to 40 + i, so the first rows see nothing of late parts.
struct Problem {
  explicit Problem(DType dtype, double spread = 1)
      : q(random_tensor({2, 4, kQueries, 16}, 1, dtype)),
        k(random_tensor({2, 2, kKeys, 16}, 2, dtype)),
        v(random_tensor({2, 2, kKeys, 8}, 3, dtype)),
        sink(random_tensor({4}, 4)) {
    args = {.q = q, .keys = {k, v}, .extents = {.q_offset = {40}}, .mask = Mask::causal()};
    args.scores.scale = {spread};
  }

  AttentionArgs part(std::int64_t begin, std::int64_t end) const {
    AttentionArgs some = args;
    some.keys = {k.view().slice(2, begin, end), v.view().slice(2, begin, end)};
    some.extents.key_offset = {begin};
    return some;
  }

  Attended whole(bool with_sink) const {
    AttentionArgs all = args;
    if (with_sink) all.scores.sink = sink;
    return attention(all);
  }

  // The parts between the cuts, in order.
  Attended merged(const std::vector<std::int64_t>& cuts, bool with_sink) const {
    Attended sum = attention(part(0, cuts[0]));
    for (std::size_t n = 0; n < cuts.size(); ++n) {
      const bool last = n + 1 == cuts.size();
      const Attended next = attention(part(cuts[n], last ? kKeys : cuts[n + 1]));
      sum = merge(sum, next, last && with_sink ? sink.view() : ConstView());
    }
    return sum;
  }

  Tensor q, k, v, sink;
  AttentionArgs args;
};

// lse + lse_low in f64.
std::vector<double> exact_lse(const Attended& attended) {
  std::vector<double> sums = test::values(attended.lse);
  const std::vector<double> low = test::values(attended.lse_low);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += low[i];
  return sums;
}

double lse_distance(const Attended& a, const Attended& b) {
  const std::vector<double> x = exact_lse(a);
  const std::vector<double> y = exact_lse(b);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i]) worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

struct Precision {
  DType dtype;
  double of_out;
  double of_lse;
};

const Precision kPrecisions[] = {{DType::kF64, 1e-14, 1e-13},
                                 {DType::kF32, 1e-6, 1e-6},
                                 {DType::kF16, 2e-3, 1e-6},
                                 {DType::kBF16, 2e-2, 1e-6}};

TEST(Merge, PartsAtRandomPlacesGiveTheWhole) {
  Random random(7);
  for (const auto& [dtype, of_out, of_lse] : kPrecisions) {
    const Problem problem(dtype);
    for (const bool with_sink : {false, true}) {
      const Attended whole = problem.whole(with_sink);
      for (int trial = 0; trial < 8; ++trial) {
        std::vector<std::int64_t> cuts;
        for (int n = 0; n <= trial % 3; ++n)
          cuts.push_back(static_cast<std::int64_t>(random.below(kKeys + 1)));
        std::ranges::sort(cuts);
        const Attended merged = problem.merged(cuts, with_sink);
        EXPECT_LT(test::distance(merged.out, whole.out), of_out) << name(dtype);
        EXPECT_LT(lse_distance(merged, whole), of_lse) << name(dtype);
      }
    }
  }
}

// One f32 is off by 5e-4 at 10,000.
TEST(Merge, KeepsThePrecisionOfTheLogSumExpAtLargeScores) {
  const Problem problem(DType::kF32, 400);
  const Attended whole = problem.whole(false);
  const Attended merged = problem.merged({50, 100}, false);
  double largest = 0;
  for (const double lse : test::values(whole.lse)) largest = std::max(largest, lse);
  EXPECT_GT(largest, 5000);
  EXPECT_LT(lse_distance(merged, whole), 1e-6);
}

// The first row sees 41 keys.
TEST(Merge, APartThatARowSeesNothingOfIsNeutral) {
  const Problem problem(DType::kF32);
  const Attended first = attention(problem.part(0, 41));
  Attended second = attention(problem.part(41, kKeys));
  ASSERT_EQ(second.lse.data<float>()[0], -kInfinity);
  std::fill_n(second.out.data<float>(), 8, NAN);
  for (const bool swapped : {false, true}) {
    const Attended merged = swapped ? merge(second, first) : merge(first, second);
    EXPECT_TRUE(test::same_bits(merged.out.view().select(2, 0).select(1, 0).select(0, 0),
                                first.out.view().select(2, 0).select(1, 0).select(0, 0)));
    EXPECT_EQ(merged.lse.data<float>()[0], first.lse.data<float>()[0]);
    EXPECT_EQ(merged.lse_low.data<float>()[0], first.lse_low.data<float>()[0]);
  }
}

TEST(Merge, RowsThatSeeNothingAtAllAreZeroWithTheSink) {
  const Tensor out = Tensor::zeros({1, 2, 3, 4});
  Tensor lse = Tensor::zeros({1, 2, 3});
  std::fill_n(lse.data<float>(), 6, -INFINITY);
  const Tensor sink = random_tensor({2}, 1);
  const AttendedConstView part = {out, lse, {}};
  const Attended without = merge({.a = part, .b = part});
  const Attended with = merge({.a = part, .b = part, .sink = sink});
  for (int row = 0; row < 6; ++row) {
    EXPECT_EQ(without.lse.data<float>()[row], -INFINITY);
    EXPECT_EQ(with.lse.data<float>()[row], sink.data<float>()[row / 3]);
    EXPECT_EQ(with.out.data<float>()[row * 4], 0);
  }
  const Tensor dlse = random_tensor({1, 2, 3}, 2);
  const Tensor nan = Tensor::zeros({1, 2, 3, 4});
  std::fill_n(const_cast<float*>(nan.data<float>()), 24, NAN);
  const MergeGrads grads =
      merge_backward({.a = part, .b = part, .sink = sink}, view_of(with), nan, dlse);
  for (int h = 0; h < 2; ++h) {
    const float* of_head = dlse.data<float>() + h * 3;
    EXPECT_FLOAT_EQ(grads.dsink.data<float>()[h], of_head[0] + of_head[1] + of_head[2]);
  }
  EXPECT_EQ(grads.dout_a.data<float>()[5], 0);
  EXPECT_EQ(grads.dlse_b.data<float>()[5], 0);
}

TEST(Merge, NanReachesItsOwnRowOnly) {
  const Problem problem(DType::kF32);
  const Attended first = attention(problem.part(0, 30));
  Attended second = attention(problem.part(30, kKeys));
  const Attended clean = merge(first, second);
  second.lse.data<float>()[5] = NAN;
  second.out.data<float>()[9 * 8] = NAN;
  const Attended merged = merge(first, second);
  EXPECT_TRUE(std::isnan(merged.lse.data<float>()[5]));
  EXPECT_TRUE(std::isnan(merged.out.data<float>()[5 * 8 + 3]));
  EXPECT_TRUE(std::isnan(merged.out.data<float>()[9 * 8]));
  EXPECT_EQ(merged.out.data<float>()[9 * 8 + 1], clean.out.data<float>()[9 * 8 + 1]);
  EXPECT_EQ(merged.out.data<float>()[6 * 8], clean.out.data<float>()[6 * 8]);
}

TEST(Merge, PartsOfSigmoidAndNoneAdd) {
  for (const Normaliser normaliser : {Normaliser::kSigmoid, Normaliser::kNone}) {
    Problem problem(DType::kF32);
    problem.args.scores.normaliser = normaliser;
    const Attended whole = attention(problem.args);
    const Attended merged =
        merge(attention(problem.part(0, 64)), attention(problem.part(64, kKeys)));
    EXPECT_LT(test::distance(merged.out, whole.out), 2e-6);
    EXPECT_FALSE(merged.lse.given());
  }
}

TEST(Merge, LayoutsAndThreadsDoNotMatter) {
  const Problem problem(DType::kF16);
  const Attended first = attention(problem.part(0, 60));
  const Attended second = attention(problem.part(60, kKeys));
  set_thread_count(1);
  const Attended expected = merge(first, second, problem.sink);
  for (const int threads : {2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_TRUE(test::same_bits(merge(first, second, problem.sink).out, expected.out));
  }
  set_thread_count(0);
  const Tensor tokens = Tensor::copy_of(first.out.view().permute({0, 2, 1, 3}));
  const Attended strided =
      merge({.a = {tokens.view().permute({0, 2, 1, 3}), first.lse, first.lse_low},
             .b = view_of(second),
             .sink = problem.sink});
  EXPECT_TRUE(test::same_bits(strided.out, expected.out));
  EXPECT_TRUE(test::same_bits(strided.lse, expected.lse));
  const auto packed = [](const Attended& part) {  // one sequence of the batch
    return AttendedConstView{part.out.view().select(0, 1), part.lse.view().select(0, 1),
                             part.lse_low.view().select(0, 1)};
  };
  const Attended rows = merge({.a = packed(first), .b = packed(second), .sink = problem.sink});
  EXPECT_TRUE(test::same_bits(rows.out, Tensor::copy_of(expected.out.view().select(0, 1))));
}

TEST(Merge, GradientsAgreeWithFiniteDifferences) {
  const Shape shape = {2, 3, 4, 5};
  Tensor out_a = random_tensor(shape, 1, DType::kF64);
  Tensor out_b = random_tensor(shape, 2, DType::kF64);
  Tensor lse_a = random_tensor({2, 3, 4}, 3, DType::kF64);
  Tensor lse_b = random_tensor({2, 3, 4}, 4, DType::kF64);
  Tensor sink = random_tensor({3}, 5, DType::kF64);
  lse_a.data<double>()[2] = -kInfinity;
  lse_b.data<double>()[7] = -kInfinity;
  const Tensor dout = random_tensor(shape, 6, DType::kF64);
  const Tensor dlse = random_tensor({2, 3, 4}, 7, DType::kF64);
  const MergeArgs args = {.a = {out_a, lse_a, {}}, .b = {out_b, lse_b, {}}, .sink = sink};
  const MergeGrads grads = merge_backward(args, view_of(merge(args)), dout, dlse);
  const auto scalar = [&] {
    const Attended merged = merge(args);
    return test::weighted_sum(merged.out, dout) + test::weighted_sum(merged.lse, dlse);
  };
  EXPECT_EQ(grads.dlse_a.data<double>()[2], 0);
  EXPECT_EQ(grads.dlse_b.data<double>()[7], 0);
  test::expect_gradient(out_a, grads.dout_a, scalar);
  test::expect_gradient(out_b, grads.dout_b, scalar);
  test::expect_gradient(sink, grads.dsink, scalar);
  // A difference at -inf is NaN.
  lse_a.data<double>()[2] = 0.5;
  lse_b.data<double>()[7] = 0.5;
  const MergeGrads finite = merge_backward(args, view_of(merge(args)), dout, dlse);
  test::expect_gradient(lse_a, finite.dlse_a, scalar);
  test::expect_gradient(lse_b, finite.dlse_b, scalar);
}

TEST(Merge, GradientsThroughThePartsAreThoseOfTheWhole) {
  Problem problem(DType::kF64);
  const Tensor sink = Tensor::converted(problem.sink, DType::kF64);
  const Tensor dout = random_tensor({2, 4, kQueries, 8}, 8, DType::kF64);
  const Tensor dlse = random_tensor({2, 4, kQueries}, 9, DType::kF64);
  AttentionArgs all = problem.args;
  all.scores.sink = sink;
  const AttentionGrads whole =
      attention_backward(all, attention(all), dout, {.dsink = true, .dlse = dlse});
  constexpr std::int64_t kCut = 61;
  const Attended a = attention(problem.part(0, kCut));
  const Attended b = attention(problem.part(kCut, kKeys));
  const MergeArgs args = {.a = view_of(a), .b = view_of(b), .sink = sink};
  const MergeGrads merged = merge_backward(args, view_of(merge(args)), dout, dlse);
  const AttentionGrads of_a =
      attention_backward(problem.part(0, kCut), a, merged.dout_a, {.dlse = merged.dlse_a});
  const AttentionGrads of_b =
      attention_backward(problem.part(kCut, kKeys), b, merged.dout_b, {.dlse = merged.dlse_b});
  EXPECT_LT(test::distance(of_a.dk, whole.dk.view().slice(2, 0, kCut)), 1e-12);
  EXPECT_LT(test::distance(of_b.dv, whole.dv.view().slice(2, kCut, kKeys)), 1e-12);
  EXPECT_LT(test::distance(merged.dsink, whole.dsink), 1e-12);
  Tensor dq = of_a.dq.clone();
  for (std::int64_t i = 0; i < dq.element_count(); ++i)
    dq.data<double>()[i] += of_b.dq.data<double>()[i];
  EXPECT_LT(test::distance(dq, whole.dq), 1e-12);
}

TEST(Merge, NothingIsLegal) {
  for (const Shape& shape : {Shape{0, 2, 3, 4}, Shape{1, 0, 3, 4}, Shape{1, 2, 0, 4}}) {
    const Tensor out = Tensor::zeros(shape);
    const Tensor lse = Tensor::zeros({shape[0], shape[1], shape[2]});
    const AttendedConstView part = {out, lse, lse};
    EXPECT_EQ(merge({.a = part, .b = part}).out.shape(), shape);
  }
  const Tensor narrow = Tensor::zeros({1, 2, 3, 0});
  const Tensor lse = Tensor::zeros({1, 2, 3});
  const Attended merged = merge({.a = {narrow, lse, {}}, .b = {narrow, lse, {}}});
  EXPECT_NEAR(merged.lse.data<float>()[0], std::log(2.0), 1e-7);
}

}  // namespace
}  // namespace heed::merge_test
