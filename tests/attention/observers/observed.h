// Shared by the tests of observers: a problem whose whole matrix is known.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bench/attention_cases.h"
#include "heed/observe.h"

namespace heed {

inline constexpr std::int64_t kBatch = 2;
inline constexpr std::int64_t kHeads = 4;
inline constexpr std::int64_t kQueries = 150;
inline constexpr std::int64_t kKeys = 170;

inline AttentionCase observed_problem(DType dtype) {
  return {.dtype = dtype,
          .batch = kBatch,
          .heads = kHeads,
          .kv_heads = 2,
          .query_length = kQueries,
          .key_length = kKeys,
          .head_dim = 16,
          .value_dim = 8,
          .mask = CaseMask::kBandAndKeep,
          .band = {90, 3},
          .extents = {.query_length = {150, 133}, .key_begin = {0, 5}, .key_length = {170, 160}}};
}

// One problem with a band, a kept set and ragged lengths, and its whole matrix by plain loops.
class Observed : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < query_length(b); ++i) fill_row(b, h, i);
  }

  std::int64_t query_length(std::int64_t b) const { return b == 0 ? 150 : 133; }
  std::int64_t key_length(std::int64_t b) const { return b == 0 ? 170 : 160; }
  std::int64_t key_begin(std::int64_t b) const { return b == 0 ? 0 : 5; }
  std::int64_t offset(std::int64_t b) const { return key_length(b) - query_length(b); }

  bool visible(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return i < query_length(b) && j < key_length(b) &&
           inputs.args.mask.rule()->visible({b, h, offset(b), 0}, i, j);
  }

  void fill_row(std::int64_t b, std::int64_t h, std::int64_t i) {
    double total = 0;
    for (std::int64_t j = 0; j < key_length(b); ++j) {
      if (!visible(b, h, i, j)) continue;
      score(b, h, i, j) = dot(b, h, i, j);
      total += weight(b, h, i, j) = std::exp(score(b, h, i, j));
    }
    for (std::int64_t j = 0; j < kKeys && total > 0; ++j) weight(b, h, i, j) /= total;
  }

  static double at(const Tensor& x, const std::array<std::int64_t, 4>& index) {
    std::int64_t flat = 0;
    for (int axis = 0; axis < 4; ++axis)
      flat = flat * x.dim(axis) + index[static_cast<std::size_t>(axis)];
    return x.data<double>()[flat];
  }
  static std::size_t flat(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(((b * kHeads + h) * kQueries + i) * kKeys + j);
  }
  double& weight(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return weights_[flat(b, h, i, j)];
  }
  // The pair may be masked.
  double dot(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < 16; ++d)
      sum += at(q, {b, h, i, d}) * at(k, {b, h / 2, key_begin(b) + j, d});
    return sum / 4;
  }
  double& score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return scores_[flat(b, h, i, j)];
  }

  void watch(std::initializer_list<Observer*> observers) {
    observe(inputs.args, attended, std::span(observers.begin(), observers.size()));
  }

  // `answer` [B, H, Tq] against a function of the row's weights.
  template <typename Meaning>
  void expect_rows(const Tensor& answer, const Meaning& meaning) {
    ASSERT_EQ(answer.shape(), (Shape{kBatch, kHeads, kQueries}));
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < kQueries; ++i)
          ASSERT_NEAR(answer.data<float>()[(b * kHeads + h) * kQueries + i], meaning(b, h, i), 1e-4)
              << b << " " << h << " " << i;
  }

  AttentionInputs inputs{observed_problem(GetParam())};
  Tensor q = Tensor::converted(inputs.args.q, DType::kF64);
  Tensor k = Tensor::converted(inputs.args.keys.k, DType::kF64);
  Attended attended = attention(inputs.args);

 private:
  std::vector<double> weights_ = std::vector<double>(flat(kBatch, 0, 0, 0), 0.0);
  std::vector<double> scores_ =
      std::vector<double>(flat(kBatch, 0, 0, 0), -std::numeric_limits<double>::infinity());
};

inline auto observed_types() { return testing::Values(DType::kF32, DType::kF64); }
inline std::string type_name(const testing::TestParamInfo<DType>& type) {
  return std::string(name(type.param));
}

}  // namespace heed
