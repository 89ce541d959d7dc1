// A bias on scores by the distance of key and query, learned per bucket of distances (Raffel et al.
// 2020, section 2.1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heed/model.h"

namespace heed {

struct PositionBiasShape {
  std::int64_t buckets = 32;
  std::int64_t heads = 1;
  std::int64_t farthest = 128;  // distances from this one on share the last bucket
  bool both_sides = true;       // keys after and before the query have different buckets
};

/// A bias [B, H, Tq, Tk] that depends only on the distance: the cells of a diagonal share a number,
/// so memory grows with Tq + Tk, not with their product.
struct BiasByDistance {
  Tensor numbers = {};   // [B, H, Tq + Tk - 1], starting with the earliest keys
  ConstView cells = {};  // [B, H, Tq, Tk] view of `numbers`; not given without a bias
};

/// ALiBi as Falcon has it, a bias of keys: key j has scale slope[h] j. Like transformers, rounds
/// slope, j and their product to bf16, so that far keys share a bias.
/// `shape` is that of the scores, [B, H, Tq, Tk].
BiasByDistance rounded_alibi(std::span<const double> slopes, double scale, const Shape& shape);

/// Shared by the layers of a stack.
class PositionBias {
 public:
  /// One parameter, `name`.weight [buckets, H], not initialised.
  PositionBias(const std::string& name, const PositionBiasShape& shape);

  /// Queries of row b have positions first[b], first[b] + 1, ...; key j has position j.
  BiasByDistance forward(std::span<const std::int64_t> first, std::int64_t queries,
                         std::int64_t keys) const;
  void backward(const Tensor& dbias, std::span<const std::int64_t> first,
                Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into) { into.push_back(&table_); }

  /// The bucket for a key this many positions after its query (negative: before it).
  std::int64_t bucket_of(std::int64_t distance) const;

 private:
  PositionBiasShape shape_;
  Parameter table_;
};

}  // namespace heed
