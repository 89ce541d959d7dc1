// The gradients of every form of score, by finite differences in double.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "support/finite_differences.h"
#include "support/random_tensor.h"
#include "support/score_kinds.h"

namespace heed::test {

/// A problem of 4 heads, whose q and keys a test adds, and something that depends on its scores.
class ScoreGradients : public testing::TestWithParam<ScoreKind> {
 protected:
  explicit ScoreGradients(std::int64_t most_samples) : samples(most_samples) {}

  std::int64_t samples;  // number of tested elements per input
  Tensor bias, slopes, sinks;
  AttentionArgs args;

  void SetUp() override {
    const ScoreKind& kind = GetParam();
    args.scores = kind.scores;
    if (args.scores.scale.empty()) args.scores.scale = {0.7};
    if (!(kind.bias == Shape{0})) {
      bias = random_tensor(kind.bias, 6, DType::kF64);
      args.scores.bias = bias;
    }
    slopes = random_tensor({4}, 7, DType::kF64);
    sinks = random_tensor({4}, 8, DType::kF64);
    if (kind.alibi) args.scores.alibi = slopes;
    if (kind.sink) args.scores.sink = sinks;
    if (kind.dropout != 0) args.dropout = Dropout{.rate = kind.dropout, .seed = 11};
  }

  virtual double objective() const = 0;

  AttentionGradRequest request() const {
    return {.dbias = bias.given(),
            .dsink = GetParam().sink,
            .dslope = GetParam().alibi,
            .dscale = true};
  }

  void expect(const View& input, const ConstView& gradient) const {
    expect_gradient(input, gradient, [&] { return objective(); }, 1e-6, samples);
  }

  /// Checks the gradients that `request` names.
  void expect_of_scores(const AttentionGrads& grads) {
    if (bias.given()) expect(bias, grads.dbias);
    if (GetParam().sink) expect(sinks, grads.dsink);
    if (GetParam().alibi) expect(slopes, grads.dslope);
    std::vector<double>& scale = args.scores.scale;
    expect(View(scale.data(), DType::kF64, Shape{std::ssize(scale)}), grads.dscale);
  }
};

/// Forms of Tq x Tk scores, without dropout.
inline std::vector<ScoreKind> gradient_kinds(std::int64_t queries, std::int64_t keys) {
  return {{.name = "Dot"},
          {.name = "ScaleOfEachHead", .scores = {.scale = {0.5, 0, -1, 2}}},
          {.name = "Cosine", .scores = {.similarity = Similarity::kCosine}},
          {.name = "Gaussian", .scores = {.similarity = Similarity::kGaussian}},
          {.name = "Absolute", .scores = {.similarity = Similarity::kAbsolute}},
          {.name = "Softcap", .scores = {.softcap = 1.5}},
          {.name = "BiasOfEachPair", .bias = {2, 4, queries, keys}},
          {.name = "BiasOfKeys", .bias = {2, 1, 1, keys}},
          {.name = "Alibi", .alibi = true},
          {.name = "Sink", .sink = true},
          {.name = "Sigmoid", .scores = {.normaliser = Normaliser::kSigmoid}, .bias = {keys}},
          {.name = "None", .scores = {.softcap = 2, .normaliser = Normaliser::kNone}},
          {.name = "All",
           .scores = {.scale = {1, 2, 3, 0.5}, .similarity = Similarity::kCosine, .softcap = 2},
           .bias = {4, queries, keys},
           .alibi = true,
           .sink = true}};
}

}  // namespace heed::test
