// Numbers of scores that f32 cannot represent: rejected if scores are f32, accepted if they are
// f64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "heed/attention.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed::attention_score_range_test {
namespace {

Tensor doubles(const std::vector<double>& values) {
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(values.size())}, DType::kF64);
  std::ranges::copy(values, tensor.data<double>());
  return tensor;
}

struct Problem {
  explicit Problem(DType dtype = DType::kF32)
      : q(Tensor::converted(test::random_tensor({1, 2, 5, 8}, 1), dtype)),
        k(Tensor::converted(test::random_tensor({1, 2, 7, 8}, 2), dtype)),
        v(Tensor::converted(test::random_tensor({1, 2, 7, 8}, 3), dtype)) {
    args.q = q;
    args.keys = {.k = k, .v = v};
  }

  // The largest difference of out between a kernel and the reference; NaN shows.
  double difference(const char* kernel) {
    args.kernel = kernel;
    const Tensor found = Tensor::converted(attention(args).out, DType::kF64);
    args.kernel = "reference";
    const Tensor wanted = Tensor::converted(attention(args).out, DType::kF64);
    double most = 0;
    for (std::int64_t e = 0; e < found.element_count(); ++e) {
      const double one = std::abs(found.data<double>()[e] - wanted.data<double>()[e]);
      if (std::isnan(one)) return one;
      most = std::max(most, one);
    }
    return most;
  }

  Tensor q, k, v;
  AttentionArgs args;
};

struct Bad {
  std::function<void(Scores&)> change;
  const char* message;
};

TEST(ScoreRange, WhatF32CannotHoldIsRefused) {
  const Tensor slopes = doubles({1, -1e39});
  const Tensor sinks = doubles({-std::numeric_limits<double>::infinity(), -1e300});
  const Bad all[] = {
      {[](auto& s) { s.softcap = 1e39; },
       "softcap is 1e+39, expected 0 for none, or 1.2e-38 to 8.5e+37"},
      {[](auto& s) { s.softcap = 1e-46; },
       "softcap is 1e-46, expected 0 for none, or 1.2e-38 to 8.5e+37"},
      {[](auto& s) { s.scale = {1e300}; },
       "scale[0] is 1e+300, expected at most 1.7e+38 in magnitude"},
      {[](auto& s) { s.scale = {1, -3e38}; },  // f32 holds it, but not times log2(e)
       "scale[1] is -3e+38, expected at most 1.7e+38 in magnitude"},
      {[&](auto& s) { s.alibi = slopes; },
       "alibi[1] is -1e+39, expected at most 3.4e+38 in magnitude"},
      {[&](auto& s) { s.sink = sinks; },
       "sink[1] is -1e+300, expected at most 3.4e+38 in magnitude"},
  };
  for (const Similarity similarity : {Similarity::kDot, Similarity::kCosine, Similarity::kGaussian})
    for (const DType dtype : {DType::kF32, DType::kF16})
      for (const auto& [change, words] : all) {
        const std::string message = fmt::format("attention: scores.{} for scores of f32", words);
        Problem problem(dtype);
        problem.args.scores.similarity = similarity;
        change(problem.args.scores);
        EXPECT_HEED_ERROR(attention(problem.args), ErrorCode::kInvalidArgument, message);
        problem.args.kernel = "reference";
        EXPECT_HEED_ERROR(attention(problem.args), ErrorCode::kInvalidArgument, message);
      }
}

TEST(ScoreRange, OfF64IsThatOfADouble) {
  Problem problem(DType::kF64);
  problem.args.scores.softcap = 1e39;
  EXPECT_LE(problem.difference("portable"), 1e-12);
  problem.args.scores.softcap = 1e-46;
  EXPECT_LE(problem.difference("portable"), 1e-12);
}

TEST(ScoreRange, TheEndsOfF32AreServed) {
  for (const double cap : {1.2e-38, 1e-30, 1e30, 8.5e37}) {
    Problem problem;
    problem.args.scores.softcap = cap;
    EXPECT_LE(problem.difference("portable"), 1e-6) << cap;
  }
  const Tensor slopes = doubles({3.4e38, 1e-300});
  Problem problem;
  problem.args.scores.alibi = slopes;
  EXPECT_LE(problem.difference("portable"), 1e-6);
  Problem small;
  small.args.q = small.q.view().slice(3, 0, 1);  // scores of one product, below 1
  small.args.keys.k = small.k.view().slice(3, 0, 1);
  small.q.data<float>()[0] = 0.5;
  small.args.scores.scale = {1.7e38};
  small.args.q = small.args.q.slice(1, 0, 1).slice(2, 0, 1);
  small.args.keys.k = small.args.keys.k.slice(1, 0, 1);
  small.args.keys.v = small.args.keys.v.slice(1, 0, 1);
  EXPECT_LE(small.difference("portable"), 1e-6);
  EXPECT_LE(small.difference(""), 1e-6);
}

TEST(ScoreRange, TheGradientOfAScaleNearNothingIsThatOfTheFormula) {
  const Tensor dout = test::random_tensor({1, 2, 5, 8}, 9);
  for (const double scale : {1e-25, 1e-30, 1e-35, 1e-39, 1e-45, 1e-300}) {
    Problem problem;
    problem.args.scores.scale = {scale};
    const auto dscale = [&](const char* kernel) {
      problem.args.kernel = kernel;
      const Attended attended = attention(problem.args);
      return attention_backward(problem.args, attended, dout, {.dscale = true})
          .dscale.data<float>()[0];
    };
    EXPECT_NEAR(dscale("portable"), dscale("reference"), 1e-5) << scale;
  }
}

}  // namespace
}  // namespace heed::attention_score_range_test
