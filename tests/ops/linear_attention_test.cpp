#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "heed/operators.h"
#include "heed/threads.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

// B 2, H 4 over G 2, T 5, D 3.
struct Problem {
  explicit Problem(DType dtype = DType::kF64, std::int64_t values = 4)
      : q(random_tensor({2, 4, 5, 3}, 1, dtype)),
        k(random_tensor({2, 2, 5, 3}, 2, dtype)),
        v(random_tensor({2, 2, 5, values}, 3, dtype)),
        decay(random_tensor({2, 2, 5, 3}, 4, dtype)),
        beta(random_tensor({2, 2, 5}, 5, dtype)),
        state(random_tensor({2, 2, 3, values}, 6, dtype)) {}
  LinearAttentionArgs args(UpdateRule rule = UpdateRule::kSum) const {
    LinearAttentionArgs all = {.q = q, .k = k, .v = v, .state = state, .rule = rule};
    if (rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta) all.decay = decay;
    if (rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta) all.beta = beta;
    all.scale = 0.5;
    return all;
  }
  Tensor q, k, v, decay, beta, state;
};

constexpr UpdateRule kRules[] = {UpdateRule::kSum, UpdateRule::kGated, UpdateRule::kDelta,
                                 UpdateRule::kGatedDelta};

// The recurrences, written down element by element for head (b, h) of `Problem`.
struct Plainly {
  Plainly(const Problem& p, UpdateRule rule, int b, int h) {
    const bool gated = rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta;
    const bool delta = rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta;
    const int place = b * 2 + h / 2;
    for (int f = 0; f < 3; ++f)
      for (int c = 0; c < 4; ++c) state[f][c] = p.state.data<double>()[(place * 3 + f) * 4 + c];
    for (int t = 0; t < 5; ++t) {
      const double* k = p.k.data<double>() + (place * 5 + t) * 3;
      const double* v = p.v.data<double>() + (place * 5 + t) * 4;
      const double* g = p.decay.data<double>() + (place * 5 + t) * 3;
      for (int f = 0; gated && f < 3; ++f)
        for (double& value : state[f]) value *= std::exp(g[f]);
      double written[4];
      for (int c = 0; c < 4; ++c) {
        double held = 0;
        for (int f = 0; f < 3; ++f) held += state[f][c] * k[f];
        written[c] = delta ? p.beta.data<double>()[place * 5 + t] * (v[c] - held) : v[c];
      }
      for (int f = 0; f < 3; ++f)
        for (int c = 0; c < 4; ++c) state[f][c] += k[f] * written[c];
      const double* q = p.q.data<double>() + ((b * 4 + h) * 5 + t) * 3;
      for (int c = 0; c < 4; ++c) {
        out[t][c] = 0;
        for (int f = 0; f < 3; ++f) out[t][c] += 0.5 * q[f] * state[f][c];
      }
    }
  }
  double state[3][4] = {};
  double out[5][4] = {};
};

TEST(LinearAttention, EveryRuleAgreesWithPlainLoops) {
  const Problem problem;
  for (const UpdateRule rule : kRules) {
    const LinearAttended found = linear_attention(problem.args(rule));
    for (int head = 0; head < 8; ++head) {
      const Plainly plain(problem, rule, head / 4, head % 4);
      const auto expect_near = [](double result, double due) {
        EXPECT_NEAR(result, due, 1e-13 * (1 + std::abs(due)));
      };
      for (int i = 0; i < 20; ++i)
        expect_near(found.out.data<double>()[head * 20 + i], plain.out[i / 4][i % 4]);
      for (int i = 0; i < 12; ++i)
        expect_near(found.state.data<double>()[(head / 4 * 2 + head % 4 / 2) * 12 + i],
                    plain.state[i / 4][i % 4]);
    }
  }
}

TEST(LinearAttention, OneTokenAfterAnotherIsTheSame) {
  const Problem problem(DType::kF32);
  for (const UpdateRule rule : kRules) {
    const LinearAttended whole = linear_attention(problem.args(rule));
    Tensor state = problem.state.clone();
    for (int t = 0; t < 5; ++t) {
      LinearAttentionArgs step = problem.args(rule);
      step.q = step.q.slice(2, t, t + 1);
      step.k = step.k.slice(2, t, t + 1);
      step.v = step.v.slice(2, t, t + 1);
      if (step.decay.given()) step.decay = step.decay.slice(2, t, t + 1);
      if (step.beta.given()) step.beta = step.beta.slice(2, t, t + 1);
      step.state = state;
      LinearAttended one = linear_attention(step);
      EXPECT_TRUE(same_bits(one.out, whole.out.view().slice(2, t, t + 1)));
      state = std::move(one.state);
    }
    EXPECT_TRUE(same_bits(state, whole.state));
  }
}

TEST(LinearAttention, OneDecayAHeadAndOneBetaForAllHeadsAreBroadcast) {
  const Problem problem;
  LinearAttentionArgs args = problem.args(UpdateRule::kGatedDelta);
  args.decay = problem.decay.view().slice(3, 0, 1);
  args.beta = problem.beta.view().slice(1, 0, 1);
  LinearAttentionArgs wide = args;
  const Tensor decay = Tensor::copy_of(args.decay.broadcast_to({2, 2, 5, 3}));
  const Tensor beta = Tensor::copy_of(args.beta.broadcast_to({2, 2, 5}));
  wide.decay = decay;
  wide.beta = beta;
  EXPECT_TRUE(same_bits(linear_attention(args).out, linear_attention(wide).out));
}

// sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j) over j <= i, of head 0.
std::vector<double> quadratic(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  std::vector<double> out;
  for (int i = 0; i < 5; ++i) {
    double sum = 0;
    double row[4] = {};
    for (int j = 0; j < 5; ++j) {
      if (causal && j > i) continue;
      double weight = 0;
      for (int f = 0; f < q.dim(3); ++f)
        weight += q.data<double>()[i * q.dim(3) + f] * k.data<double>()[j * q.dim(3) + f];
      sum += weight;
      for (int c = 0; c < 4; ++c) row[c] += weight * v.data<double>()[j * 4 + c];
    }
    for (const double value : row) out.push_back(value / sum);
  }
  return out;
}

TEST(LinearAttention, NormalisedIsTheQuadraticForm) {
  const Problem problem;
  const FeatureMap elu = {.kind = FeatureKind::kEluPlusOne};
  for (const bool causal : {true, false}) {
    LinearAttentionArgs args = problem.args();
    args.state = {};
    args.features = elu;
    args.causal = causal;
    args.normalised = true;
    const Tensor out = linear_attention(args).out;
    const std::vector<double> expected =
        quadratic(map_features(problem.q, elu), map_features(problem.k, elu), problem.v, causal);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(out.data<double>()[i], expected[i], 1e-12);
  }
}

TEST(LinearAttention, ADenominatorOfZeroGivesZero) {
  Problem problem;
  for (int i = 0; i < 60; ++i) problem.k.data<double>()[i] = -1;  // relu: no feature is left
  LinearAttentionArgs args = problem.args();
  args.state = {};
  args.features = {.kind = FeatureKind::kRelu};
  args.normalised = true;
  const LinearAttended found = linear_attention(args);
  for (int i = 0; i < 160; ++i) EXPECT_EQ(found.out.data<double>()[i], 0);
  const Tensor dout = random_tensor({2, 4, 5, 4}, 7, DType::kF64);
  const LinearAttentionGrads grads = linear_attention_backward(args, dout);
  for (int i = 0; i < 80; ++i) EXPECT_EQ(grads.dv.data<double>()[i], 0);
}

void expect_gradients(Problem& problem, const LinearAttentionArgs& args) {
  const std::int64_t values = problem.v.dim(3);
  const Tensor dout = random_tensor({2, 4, 5, values}, 8, DType::kF64);
  const Tensor dstate =
      random_tensor({2, 2, 3, values + (args.normalised ? 1 : 0)}, 9, DType::kF64);
  const LinearAttentionGrads grads = linear_attention_backward(args, dout, dstate);
  const auto scalar = [&] {
    const LinearAttended found = linear_attention(args);
    return test::weighted_sum(found.out, dout) + test::weighted_sum(found.state, dstate);
  };
  const auto expect_gradient = [&](Tensor& input, const Tensor& gradient) {
    test::expect_gradient(input, gradient, scalar, 1e-5);  // sums of 1e5 round by 1e-11
  };
  expect_gradient(problem.q, grads.dq);
  expect_gradient(problem.k, grads.dk);
  expect_gradient(problem.v, grads.dv);
  if (args.state.given()) expect_gradient(problem.state, grads.dstate);
  EXPECT_EQ(grads.ddecay.view().given(), args.decay.given());
  if (args.decay.given()) expect_gradient(problem.decay, grads.ddecay);
  EXPECT_EQ(grads.dbeta.view().given(), args.beta.given());
  if (args.beta.given()) expect_gradient(problem.beta, grads.dbeta);
}

TEST(LinearAttention, GradientsAreFiniteDifferences) {
  for (const UpdateRule rule : kRules)
    for (const bool causal : {true, false})
      for (const std::int64_t values : {4, 45}) {  // 45: four vectors, single ones, and a rest
        Problem problem(DType::kF64, values);
        LinearAttentionArgs args = problem.args(rule);
        args.causal = causal;
        expect_gradients(problem, args);
      }
}

TEST(LinearAttention, GradientsOfSharedGatesAreSums) {
  Problem problem;
  problem.decay = random_tensor({2, 2, 5, 1}, 11, DType::kF64);
  problem.beta = random_tensor({2, 1, 5}, 12, DType::kF64);
  expect_gradients(problem, problem.args(UpdateRule::kGatedDelta));
}

TEST(LinearAttention, GradientsInF32AreThoseInF64Rounded) {
  using Grads = LinearAttentionGrads;
  const Problem problem(DType::kF32, 45);
  Problem wide;
  for (Tensor Problem::* part :
       {&Problem::q, &Problem::k, &Problem::v, &Problem::decay, &Problem::beta, &Problem::state})
    wide.*part = Tensor::converted(problem.*part, DType::kF64);
  const Tensor dout = random_tensor({2, 4, 5, 45}, 8, DType::kF32);
  for (const UpdateRule rule : kRules) {
    const Grads found = linear_attention_backward(problem.args(rule), dout);
    const Grads due =
        linear_attention_backward(wide.args(rule), Tensor::converted(dout, DType::kF64));
    for (Tensor Grads::* part :
         {&Grads::dq, &Grads::dk, &Grads::dv, &Grads::dstate, &Grads::ddecay, &Grads::dbeta}) {
      if (!(due.*part).view().given()) continue;
      const double largest = largest_difference(due.*part, Tensor::zeros((due.*part).shape()));
      EXPECT_LT(largest_difference(found.*part, due.*part), 1e-5 * largest);
    }
  }
}

TEST(LinearAttention, NormalisedGradientsAreFiniteDifferences) {
  for (const UpdateRule rule : {UpdateRule::kSum, UpdateRule::kGated})
    for (const bool causal : {true, false}) {
      Problem problem;
      LinearAttentionArgs args = problem.args(rule);
      args.state = {};
      args.features = {.kind = FeatureKind::kEluPlusOne};
      args.causal = causal;
      args.normalised = true;
      expect_gradients(problem, args);
    }
}

TEST(LinearAttention, RandomFeaturesApproachTheSoftmax) {
  const Problem problem;
  const Tensor projection = random_projection(20000, 3, 11, DType::kF64);
  const FeatureMap map = {
      .kind = FeatureKind::kRandomExponential, .scale = 0.5, .projection = projection};
  const Tensor q = map_features(problem.q, map);
  const Tensor k = map_features(problem.k, map);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      double found = 0;
      for (int m = 0; m < 20000; ++m)
        found += q.data<double>()[i * 20000 + m] * k.data<double>()[j * 20000 + m];
      double dot = 0;
      for (int c = 0; c < 3; ++c)
        dot += problem.q.data<double>()[i * 3 + c] * problem.k.data<double>()[j * 3 + c];
      EXPECT_NEAR(found / std::exp(0.25 * dot), 1, 0.1);
    }
  }
}

TEST(LinearAttention, SixteenBitTypesAreComputedInF32) {
  const Problem problem(DType::kF16);
  const Tensor q = Tensor::converted(problem.q, DType::kF32);
  const Tensor k = Tensor::converted(problem.k, DType::kF32);
  const Tensor v = Tensor::converted(problem.v, DType::kF32);
  LinearAttentionArgs wide = problem.args();
  wide.q = q;
  wide.k = k;
  wide.v = v;
  const LinearAttended narrow = linear_attention(problem.args());
  EXPECT_EQ(narrow.state.dtype(), DType::kF32);
  EXPECT_TRUE(same_bits(narrow.out, Tensor::converted(linear_attention(wide).out, DType::kF16)));
}

TEST(LinearAttention, BitsDoNotDependOnThreads) {
  const Problem problem(DType::kF32);
  const Tensor dout = random_tensor({2, 4, 5, 4}, 12);
  set_thread_count(1);
  const LinearAttended one = linear_attention(problem.args());
  const Tensor dk_one = linear_attention_backward(problem.args(), dout).dk;
  set_thread_count(3);
  const LinearAttended three = linear_attention(problem.args());
  const Tensor dk_three = linear_attention_backward(problem.args(), dout).dk;
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one.out, three.out));
  EXPECT_TRUE(same_bits(dk_one, dk_three));
}

TEST(LinearAttention, ExtentsMayBeZero) {
  const Tensor none = Tensor::zeros({2, 2, 0, 3});
  const Tensor state = random_tensor({2, 2, 3, 3}, 13);
  const LinearAttended found = linear_attention({.q = none, .k = none, .v = none, .state = state});
  EXPECT_EQ(found.out.shape(), Shape({2, 2, 0, 3}));
  EXPECT_TRUE(same_bits(found.state, state));
}

}  // namespace
}  // namespace heed
