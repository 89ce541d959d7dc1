// Attention weights in plain loops and doubles, with which the server's answers are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "heed/session.h"

namespace heed::test {

using Matrix = std::vector<std::vector<double>>;  // NaN where masked

inline Matrix plain_scores(const LayerAttention& layer, std::int64_t head) {
  const std::int64_t length = layer.q.dim(2), width = layer.q.dim(3);
  const float* q = layer.q.data<float>() + head * length * width;
  const float* k = layer.k.data<float>() + head * length * width;
  Matrix scores(length, std::vector<double>(length, std::numeric_limits<double>::quiet_NaN()));
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < width; ++d)
        dot += static_cast<double>(q[i * width + d]) * static_cast<double>(k[j * width + d]);
      scores[i][j] = dot / std::sqrt(static_cast<double>(width));
    }
  return scores;
}

inline Matrix plain_softmax(Matrix scores) {
  for (auto& row : scores) {
    double sum = 0;
    for (const double score : row)
      if (!std::isnan(score)) sum += std::exp(score);
    for (double& score : row)
      if (!std::isnan(score)) score = std::exp(score) / sum;
  }
  return scores;
}

// One cell of B x B entries as docs/api.md says it.
inline double plain_cell(const Matrix& matrix, std::int64_t y, std::int64_t x, std::int64_t block,
                         bool max, bool scores) {
  const auto length = static_cast<std::int64_t>(matrix.size());
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t visible = 0, all = 0;
  for (std::int64_t i = y * block; i < std::min((y + 1) * block, length); ++i)
    for (std::int64_t j = x * block; j < std::min((x + 1) * block, length); ++j) {
      ++all;
      if (std::isnan(matrix[i][j])) continue;
      ++visible;
      best = std::max(best, matrix[i][j]);
      sum += matrix[i][j];
    }
  if (visible == 0) return std::numeric_limits<double>::quiet_NaN();
  if (max) return best;
  return sum / static_cast<double>(scores ? visible : all);
}

/// The body of a tile as f32.
inline std::vector<float> floats(const std::string& body) {
  std::vector<float> values(body.size() / 4);
  std::memcpy(values.data(), body.data(), 4 * values.size());
  return values;
}

}  // namespace heed::test
