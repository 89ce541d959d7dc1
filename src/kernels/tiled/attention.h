// Attention in tiles of 64 rows x 64 keys, for everything that is legal, in linear memory. Loops
// over fixed-size tiles, compiled for each vector width of the machine.
#pragma once

#include <functional>

#include "kernels/attention.h"

namespace heed::kernels {

void tiled_attention(const AttentionProblem& problem, const AttentionForward& forward);
void tiled_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);
std::int64_t tiled_attention_workspace(const AttentionProblem& problem);
std::int64_t tiled_attention_backward_workspace(const AttentionProblem& problem);

/// Up to 64 rows of one (batch, head) whose weights are wanted again; lse as the forward pass gave.
struct WeightRows {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  const void* lse = nullptr;
  const void* lse_low = nullptr;
};

/// Element (row, key) at [(key - key_begin) * kMaskRows + (row - row_begin)].
struct WeightTile {
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  const float* weights = nullptr;          // 0 where masked
  const float* scores = nullptr;           // natural; -inf where masked
  const std::uint64_t* visible = nullptr;  // one word a key
};

using WantsKeys = std::function<bool(std::int64_t key_begin, std::int64_t key_end)>;
using UseTile = std::function<void(const WeightTile& tile)>;

/// Calls `use` for every tile of the rows, in key order, that is not empty and that `wants` asks
/// for.
void tiled_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                   const UseTile& use);

}  // namespace heed::kernels
