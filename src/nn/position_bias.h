// A bias on scores by the distance of key and query, learned a bucket of distances (Raffel et al.
// 2020, section 2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/nn/parameter.h"

namespace heed {

struct PositionBiasShape {
  std::int64_t buckets = 32;
  std::int64_t heads = 1;
  std::int64_t farthest = 128;  // distances from here on share the last bucket
  bool both_sides = true;       // keys behind and before the query have buckets of their own
};

/// Shared by the layers of a stack.
class PositionBias {
 public:
  /// One parameter, `name`.weight [buckets, H], not initialised.
  PositionBias(const std::string& name, const PositionBiasShape& shape);

  /// [B, H, Tq, Tk]: queries of row b stand at first[b] and behind it, key j at j.
  Tensor forward(std::span<const std::int64_t> first, std::int64_t queries,
                 std::int64_t keys) const;
  void backward(const Tensor& dbias, std::span<const std::int64_t> first,
                Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into) { into.push_back(&table_); }

  /// Of a key so many positions behind its query (below 0: before it).
  std::int64_t bucket_of(std::int64_t distance) const;

 private:
  PositionBiasShape shape_;
  Parameter table_;
};

}  // namespace heed
