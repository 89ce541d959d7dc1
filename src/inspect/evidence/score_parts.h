// One score in parts: the contribution of each dimension, and of positions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "heed/operators.h"
#include "heed/session.h"

namespace heed {

/// A head's rows as numbers, and how they are scored, in double.
class HeadRows {
 public:
  HeadRows(const LayerAttention& layer, int head);

  std::span<const float> query(std::int64_t i) const { return row(q_, head_, i); }
  std::span<const float> key(std::int64_t j) const { return row(k_, kv_head_, j); }
  std::span<const float> value(std::int64_t j) const { return row(v_, kv_head_, j); }
  int kv_head() const { return kv_head_; }
  double scale() const { return scale_; }

  /// Per dimension; they sum to the scaled similarity, before soft cap and bias.
  std::vector<double> terms(std::span<const float> query, std::span<const float> key) const;
  double capped(double raw) const;
  /// Added after the cap.
  double bias(std::int64_t i, std::int64_t j) const;
  double alibi(std::int64_t i, std::int64_t j) const;
  /// Keys visible to query i, in order.
  std::vector<std::int64_t> visible_keys(std::int64_t i) const;

 private:
  static std::span<const float> row(const Tensor& of, int head, std::int64_t at);

  const LayerAttention& layer_;
  Tensor q_, k_, v_;  // as f32
  int head_;
  int kv_head_;
  double scale_;
};

/// How fast each pair of a head's dimensions rotates with position.
struct Turns {
  std::vector<double> angles = {};  // radians per token; empty: no rotation
  double length = 1;                // factor of rows when rotated
  RopePairs pairs = RopePairs::kHalves;

  /// The two dimensions of pair n.
  std::pair<std::size_t, std::size_t> pair(std::size_t n) const {
    if (pairs == RopePairs::kNeighbours) return {2 * n, 2 * n + 1};
    return {n, n + angles.size()};
  }
};

/// x rotated by this many more tokens, without the length factor.
void turn(std::span<double> x, const Turns& turns, double tokens);

}  // namespace heed
