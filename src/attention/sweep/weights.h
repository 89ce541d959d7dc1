// Attention weights, recomputed tile by tile for observers and never stored.
#pragma once

#include <cstdint>
#include <functional>

#include "attention/problem.h"

namespace heed::kernels {

/// Up to 64 rows of one (batch, head) whose weights are recomputed; lse is the forward pass's.
struct WeightRows {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  const void* lse = nullptr;
  const void* lse_low = nullptr;
};

/// Which parts of a tile are wanted. Weights and `visible` are always provided.
struct WantedOfTile {
  bool any = false;  // false: skip the tile
  bool log_weights = false;
  bool scores = false;
  bool before_mask = false;  // at every pair, so fully masked tiles are shown too
  bool value_norms = false;
};

/// Element (row, key) at [(key - key_begin) * kMaskRows + (row - row_begin)]; null: not wanted.
struct WeightTile {
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  const float* weights = nullptr;          // 0 where masked
  const float* log_weights = nullptr;      // -inf where masked
  const float* scores = nullptr;           // -inf where masked
  const float* before_softcap = nullptr;   // scale * similarity
  const float* before_bias = nullptr;      // after the softcap
  const float* before_mask = nullptr;      // after bias and ALiBi
  const float* value_norms = nullptr;      // |v_j|, one per key
  const std::uint64_t* visible = nullptr;  // one word per key
  bool empty = false;                      // no pair is visible
};

using WantsKeys = std::function<WantedOfTile(std::int64_t key_begin, std::int64_t key_end)>;
using UseTile = std::function<void(const WeightTile& tile)>;

/// Calls `use` for every tile of the rows that `wants` requests, in key order; for fully masked
/// tiles only with `before_mask`. Both run in the caller's float mode.
void sweep_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                   const UseTile& use);

}  // namespace heed::kernels
