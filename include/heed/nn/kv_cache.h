// Keys and values of the tokens that a decoder has seen, so that a new token costs one row of
// attention and not a pass over the whole text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/ops/attention.h"
#include "heed/tensor/tensor.h"

namespace heed {

struct KvCacheShape {
  std::int64_t layers = 0;
  std::int64_t batch = 0;  // rows: texts that go on side by side, each with its own length
  std::int64_t kv_heads = 0;
  std::int64_t capacity = 0;  // tokens that a row has room for
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

/// Contiguous: for each layer k [B, G, capacity, D] and v [B, G, capacity, Dv], allocated once.
/// A pass appends in every layer and then advances; until it advances, the cache holds what it held
/// before, so a pass that fails half way may be repeated.
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape, DType dtype = DType::kF32);

  const KvCacheShape& shape() const { return shape_; }
  /// Tokens that each row holds: the position of its next one.
  std::span<const std::int64_t> lengths() const { return lengths_; }

  /// Out of capacity, or not one count a row, is an error; nothing is written.
  void require_room(std::span<const std::int64_t> counts) const;
  /// Writes the first counts[b] rows of k [B, G, T, D] and v [B, G, T, Dv] behind row b's tokens.
  void append(int layer, const Keys& keys, std::span<const std::int64_t> counts);
  /// The tokens that every layer has appended are held from now on.
  void advance(std::span<const std::int64_t> counts);

  /// All slots of a layer, k [B, G, capacity, D]; those that nothing was written to are undefined.
  Keys keys(int layer) const;
  /// Only these rows (rising) go on, as rows 0, 1, ...; the others are forgotten.
  void keep(std::span<const std::int64_t> rows);

 private:
  struct Layer {
    Tensor k;
    Tensor v;
  };

  KvCacheShape shape_;
  std::vector<Layer> layers_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace heed
