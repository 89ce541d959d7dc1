// An additive bias of the forward pass: brought in by rows, transposed, added to the scores of a
// tile; where it is -inf it hides as the mask does. Broadcast dimensions are never expanded beyond
// the tile. Included once for each target.
#if defined(HEED_KERNELS_CPU_ATTENTION_BIAS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_BIAS_INL_H
#undef HEED_KERNELS_CPU_ATTENTION_BIAS_INL_H
#else
#define HEED_KERNELS_CPU_ATTENTION_BIAS_INL_H
#endif

#include <algorithm>
#include <limits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/attention_rows-inl.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The bias of one segment of rows, transposed: to[key][64].
inline void read_bias(const Input& bias, const RowBlock& block, const Segment& segment,
                      const KeyTile& keys, std::int64_t bias_end, float* to) {
  Input from = rows_at(bias, block.batch, segment.head, segment.row);
  const Input columns = {.data = from.data, .row = bias.column, .dtype = bias.dtype};
  from.data = rows_at(columns, 0, 0, keys.begin).data;
  alignas(64) float lines[4 * kTileKeys];
  for (int i = 0; i < segment.count; i += 4) {
    const int rows = std::min(4, segment.count - i);
    const float* line[4];
    const bool near = from.dtype == DType::kF32 && from.column == 1;
    if (!near) copy_tile(rows_at(from, 0, 0, i), rows, keys.keys(), kTileKeys, lines);
    for (int r = 0; r < rows; ++r)
      line[r] =
          near ? static_cast<const float*>(from.data) + (i + r) * from.row : lines + r * kTileKeys;
    // Rows lie far apart: no hardware foresees the next tile's part of each.
    for (int r = 0; near && r < rows && keys.end < bias_end; ++r)
      for (std::int64_t ahead = 0; ahead < kTileKeys; ahead += 16)
        hwy::Prefetch(line[r] + kTileKeys + ahead);
    const int lane = segment.lane + i;
    std::int64_t key = 0;
    if (rows == 4 && lane % 4 == 0) {
      transpose_four(line, keys.keys(), 1, to + lane);
      key = keys.keys() / 4 * 4;
    }
    for (; key < keys.keys(); ++key)
      for (int r = 0; r < rows; ++r) to[key * kTileRows + lane + r] = line[r][key];
  }
}

/// Adds the bias to the scores, as the tiled kernel does, whose backward pass subtracts their
/// log-sum-exp. Bits of a bias of -inf are taken from `visible`; true if there are any.
inline bool add_bias(const AttentionProblem& problem, const RowBlock& block, const KeyTile& keys,
                     const RowTile& tile, float* scores, std::uint64_t* visible) {
  const Lanes d;
  alignas(64) float bias[kTileKeys * kTileRows];
  if (tile.rows < kTileRows) std::fill_n(bias, keys.keys() * kTileRows, 0.0f);
  for (int s = 0; s < tile.segment_count; ++s)
    read_bias(problem.score.bias, block, tile.segments[s], keys,
              problem.sequences[block.batch].key_length, bias);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::uint64_t any = 0;
  for (std::int64_t j = 0; j < keys.keys(); ++j) {
    std::uint64_t hidden = 0;
    for (int lane = 0; lane < tile.rows; lane += kLanes) {
      const std::int64_t at = j * kTileRows + lane;
      const auto add = hn::Load(d, bias + at);
      hn::Store(hn::Add(hn::Load(d, scores + at), add), d, scores + at);
      std::uint64_t bits = 0;
      hn::StoreMaskBits(d, hn::Eq(add, lowest), reinterpret_cast<std::uint8_t*>(&bits));
      hidden |= bits << lane;
    }
    visible[j] &= ~hidden;
    any |= hidden;
  }
  return any != 0;
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
