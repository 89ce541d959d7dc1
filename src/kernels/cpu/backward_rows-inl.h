// What the backward pass reads of a block of query rows: q, dout and out by rows and by columns,
// and for each row its log-sum-exp and delta. Included once for each target.
#if defined(HEED_KERNELS_CPU_BACKWARD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_BACKWARD_ROWS_INL_H
#undef HEED_KERNELS_CPU_BACKWARD_ROWS_INL_H
#else
#define HEED_KERNELS_CPU_BACKWARD_ROWS_INL_H
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/attention_backward_tasks.h"
#include "kernels/cpu/elements-inl.h"
#include "kernels/sweep/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows [begin, begin + rows) of a head against a key block.
struct BackwardTile {
  std::int64_t head = 0;
  std::int64_t begin = 0;
  std::int64_t rows = 0;
  TileClass kind = TileClass::kFull;
  alignas(8) std::uint64_t visible[kTileKeys] = {};  // of partial tiles
  bool rows_finite = true;  // query_rows and dout_rows; known for partial tiles
  bool keys_finite = true;  // k; likewise

  bool partial() const { return kind == TileClass::kPartial; }
  int vectors() const { return static_cast<int>((rows + kLanes - 1) / kLanes); }
};

inline bool all_finite(const float* from, std::int64_t floats) {
  const Lanes d;
  auto found = hn::Zero(d);
  for (std::int64_t x = 0; x < floats; x += kLanes) {
    const auto value = hn::Load(d, from + x);
    found = hn::Or(found, hn::Sub(value, value));  // 0 where finite, else NaN
  }
  return hn::AllTrue(d, hn::Eq(found, hn::Zero(d)));
}

/// to[x][lane] = factor * rows[lane][x], for whole vectors of lanes.
inline void transpose_rows(const float* rows, std::int64_t stride, std::int64_t columns, int lanes,
                           float factor, float* to) {
  for (int i = 0; i < lanes; i += 4) {
    const float* const at = rows + i * stride;
    const float* const four[4] = {at, at + stride, at + 2 * stride, at + 3 * stride};
    sweep::HWY_NAMESPACE::transpose_four(four, (columns + 3) / 4 * 4, factor, to + i, kTileRows);
  }
}

/// delta_i = sum_d out_id dout_id - dlse_i, and the log-sum-exp as a sum of two floats.
inline void read_row_scalars(const AttentionProblem& problem, const AttentionBackward& backward,
                             std::int64_t batch, const BackwardTile& tile, BackwardScratch& s) {
  const Lanes d;
  const std::int64_t first = lse_index(problem, batch, tile.head, tile.begin);
  const auto* lse = static_cast<const float*>(backward.lse) + first;
  const auto* lse_low = static_cast<const float*>(backward.lse_low) + first;
  const auto* dlse = static_cast<const float*>(backward.dlse);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    auto sum = hn::Zero(d);
    const std::int64_t row = i * s.value_width;
    for (std::int64_t x = 0; x < s.value_width; x += kLanes)
      sum = hn::MulAdd(hn::Load(d, s.out_rows + row + x), hn::Load(d, s.dout_rows + row + x), sum);
    s.delta[i] = hn::GetLane(hn::SumOfLanes(d, sum)) - (dlse == nullptr ? 0 : dlse[first + i]);
    s.lse[i] = lse[i];
    s.lse_low[i] = std::isfinite(lse[i]) ? lse_low[i] : 0;
  }
  for (auto* scalars : {s.delta, s.lse, s.lse_low})
    std::fill(scalars + tile.rows, scalars + kTileRows, 0.0f);
}

inline void add_to(const float* from, std::int64_t floats, float* to) {
  const Lanes d;
  for (std::int64_t x = 0; x < floats; x += kLanes)
    hn::Store(hn::Add(hn::Load(d, to + x), hn::Load(d, from + x)), d, to + x);
}

inline void read_rows(const AttentionProblem& problem, const AttentionBackward& backward,
                      std::int64_t batch, const BackwardTile& tile, BackwardScratch& s) {
  const std::int64_t slot = problem.sequences[batch].query_begin + tile.begin;
  const auto read = [&](const Input& from, std::int64_t columns, std::int64_t stride, float* to) {
    copy_tile(rows_at(from, batch, tile.head, slot), tile.rows, columns, stride, to);
    std::fill(to + tile.rows * stride, to + tile.vectors() * kLanes * stride, 0.0f);
  };
  read(problem.q, problem.head_dim, s.width, s.query_rows);
  read(backward.dout, problem.value_dim, s.value_width, s.dout_rows);
  read(backward.out, problem.value_dim, s.value_width, s.out_rows);
  if (backward.out_low.data != nullptr) {
    read(backward.out_low, problem.value_dim, s.value_width, s.dout);  // not yet in use
    add_to(s.dout, tile.rows * s.value_width, s.out_rows);
  }
  const auto factor = static_cast<float>(problem.scale[tile.head]);
  const int lanes = tile.vectors() * kLanes;
  transpose_rows(s.query_rows, s.width, problem.head_dim, lanes, factor, s.queries);
  transpose_rows(s.dout_rows, s.value_width, problem.value_dim, lanes, 1, s.dout);
  read_row_scalars(problem, backward, batch, tile, s);
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
