// One task of the backward pass: a block of 64 keys against the row blocks of the heads that read
// it (Dao et al. 2022, algorithm 4). Rows stand in the lanes, as in the forward pass:
//   S^T = K Q^T, dP^T = V dO^T, dS^T = scale P^T (dP^T - delta),
//   dV += P^T dO, dK += dS^T Q, dQ += dS K.
// Included once for each target.
//
// Six keys at a time go through the first five stages, so that their weights stay in the first
// level of the cache. A partial tile computes only the vectors of rows that a strip's keys can be
// seen from, and sums only over them: a causal tile of 64 x 64 takes about 60 % of a full one,
// which is most of what a sequence of 64 is made of.
//
// Bound by the FMA ports: 16 pairs take 5 D / 2 cycles (Dv = D) and about 7 for the weights.
#if defined(HEED_KERNELS_CPU_ATTENTION_BACKWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_BACKWARD_INL_H
#undef HEED_KERNELS_CPU_ATTENTION_BACKWARD_INL_H
#else
#define HEED_KERNELS_CPU_ATTENTION_BACKWARD_INL_H
#endif

#include <algorithm>
#include <bit>

#include "base/float_mode.h"
#include "hwy/highway.h"
#include "kernels/cpu/attention_backward_tasks.h"
#include "kernels/cpu/backward_rows-inl.h"
#include "kernels/sweep/exp-inl.h"
#include "kernels/cpu/tile_product-inl.h"
#include "kernels/load_keys-inl.h"
#include "kernels/mask_lanes-inl.h"
#include "kernels/turn.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of rows that may see one of the keys [key, key + count).
struct VectorRange {
  int begin = 0;
  int end = 0;
};

inline VectorRange range_of(const BackwardTile& tile, std::int64_t key, std::int64_t count) {
  if (!tile.partial()) return {0, tile.vectors()};
  std::uint64_t any = 0;
  for (std::int64_t j = key; j < key + count; ++j) any |= tile.visible[j];
  if (any == 0) return {0, 0};
  return {std::countr_zero(any) / kLanes, (63 - std::countl_zero(any)) / kLanes + 1};
}

/// c [strip][64 rows] = a [strip][depth] b [depth][64 rows] in a range of vectors.
inline void product_in(const VectorRange& range, std::int64_t strip, Product p) {
  p.b_row = kTileRows;
  p.c_row = kTileRows;
  p.b += range.begin * kLanes;
  p.c += range.begin * kLanes;
  for (int v = range.begin; v < range.end; v += kPanelVectors, p.b += kPanel, p.c += kPanel)
    product_of_size<Left::kByRow, Onto::kZero>(strip, std::min(kPanelVectors, range.end - v), p);
}

/// Scores and dP of a strip of keys become weights and dscores: 0 where hidden, by selection.
inline void differentiate(const BackwardTile& tile, std::int64_t key, std::int64_t strip,
                          const VectorRange& range, float scale, BackwardScratch& s) {
  const Lanes d;
  const auto factor = hn::Set(d, scale);
  for (std::int64_t j = 0; j < strip; ++j) {
    float* const weights = s.weights + j * kTileRows;
    float* const dscores = s.dscores + (key + j) * kTileRows;
    for (int lane = range.begin * kLanes; lane < range.end * kLanes; lane += kLanes) {
      const auto above = hn::Sub(hn::Load(d, weights + lane), hn::Load(d, s.lse + lane));
      auto p = exp(d, hn::Sub(above, hn::Load(d, s.lse_low + lane)));
      const auto change = hn::Sub(hn::Load(d, dscores + lane), hn::Load(d, s.delta + lane));
      auto ds = hn::Mul(hn::Mul(factor, p), change);
      if (tile.partial()) {
        const auto visible = kernels::HWY_NAMESPACE::mask_lanes(d, tile.visible[key + j], lane);
        p = hn::IfThenElseZero(visible, p);
        ds = hn::IfThenElseZero(visible, ds);
      }
      hn::Store(p, d, weights + lane);
      hn::Store(ds, d, dscores + lane);
    }
    std::fill(dscores, dscores + range.begin * kLanes, 0.0f);
    std::fill(dscores + range.end * kLanes, dscores + tile.vectors() * kLanes, 0.0f);
  }
}

/// c [strip][width] += a b over `depth`, in panels of columns.
template <Left kLeft, Onto kOnto>
inline void product_across(std::int64_t strip, std::int64_t width, Product p) {
  p.b_row = width;
  p.c_row = width;
  for (std::int64_t column = 0; column < width; column += kPanel, p.b += kPanel, p.c += kPanel) {
    const int vectors = static_cast<int>(std::min<std::int64_t>(kPanel, width - column)) / kLanes;
    product_of_size<kLeft, kOnto>(strip, vectors, p);
  }
}

/// sum [strip keys][width] += weights [strip keys][rows] * rows [rows][width], of visible pairs.
inline void add_to_keys(const BackwardTile& tile, std::int64_t key, std::int64_t strip,
                        const VectorRange& range, const float* weights, const float* rows,
                        std::int64_t width, float* sum) {
  const Lanes d;
  const std::int64_t begin = range.begin * kLanes;
  const std::int64_t end = std::min<std::int64_t>(range.end * kLanes, tile.rows);
  if (begin >= end) return;
  sum += key * width;
  if (tile.rows_finite) {
    product_across<Left::kByRow, Onto::kAdd>(strip, width,
                                             {.a = weights + begin,
                                              .a_row = kTileRows,
                                              .b = rows + begin * width,
                                              .c = sum,
                                              .depth = end - begin});
    return;
  }
  for (std::int64_t j = 0; j < strip; ++j)  // 0 * NaN would not be 0
    for (std::int64_t x = 0; x < width; x += kLanes) {
      auto total = hn::Zero(d);
      for (std::int64_t i = begin; i < end; ++i)
        if ((tile.visible[key + j] >> i & 1) != 0)
          total = hn::MulAdd(hn::Set(d, weights[j * kTileRows + i]),
                             hn::Load(d, rows + i * width + x), total);
      float* const to = sum + j * width + x;
      hn::Store(hn::Add(hn::Load(d, to), total), d, to);
    }
}

/// dq [rows][width] = dS K, of visible pairs.
inline void query_gradient(const BackwardTile& tile, std::int64_t keys, BackwardScratch& s) {
  const Lanes d;
  for (std::int64_t i = 0, strip; i < tile.rows; i += strip) {
    strip = strip_of(tile.rows - i);
    const std::uint64_t rows = ((std::uint64_t{1} << strip) - 1) << i;
    std::int64_t begin = 0;
    std::int64_t end = keys;
    while (tile.partial() && begin < end && (tile.visible[begin] & rows) == 0) ++begin;
    while (tile.partial() && begin < end && (tile.visible[end - 1] & rows) == 0) --end;
    if (tile.keys_finite) {
      product_across<Left::kByDepth, Onto::kZero>(strip, s.width,
                                                  {.a = s.dscores + begin * kTileRows + i,
                                                   .b = s.k + begin * s.width,
                                                   .c = s.dq + i * s.width,
                                                   .depth = end - begin});
      continue;
    }
    for (std::int64_t r = i; r < i + strip; ++r)
      for (std::int64_t x = 0; x < s.width; x += kLanes) {
        auto total = hn::Zero(d);
        for (std::int64_t j = begin; j < end; ++j)
          if ((tile.visible[j] >> r & 1) != 0)
            total = hn::MulAdd(hn::Set(d, s.dscores[j * kTileRows + r]),
                               hn::Load(d, s.k + j * s.width + x), total);
        hn::Store(total, d, s.dq + r * s.width + x);
      }
  }
}

/// Rows of a tile added to f32 that is there.
inline void add_rows(const float* from, std::int64_t stride, std::int64_t rows,
                     std::int64_t columns, const Output& to) {
  const Lanes d;
  auto* out = static_cast<float*>(to.data);
  for (std::int64_t r = 0; r < rows; ++r, out += to.row, from += stride) {
    std::int64_t x = 0;
    if (to.column == 1)
      for (; x + kLanes <= columns; x += kLanes)
        hn::StoreU(hn::Add(hn::LoadU(d, out + x), hn::Load(d, from + x)), d, out + x);
    for (; x < columns; ++x) out[x * to.column] += from[x];
  }
}

inline void write_rows(const float* from, std::int64_t stride, std::int64_t rows,
                       std::int64_t columns, const Output& to) {
  for (std::int64_t r = 0; r < rows; ++r) write_row(from + r * stride, 1, columns, r, to);
}

inline void tile_gradients(const AttentionProblem& problem, const AttentionBackward& backward,
                           const KeyBlock& block, BackwardTile& tile, BackwardScratch& s) {
  read_rows(problem, backward, block.batch, tile, s);
  if (tile.partial()) {
    tile.rows_finite = all_finite(s.query_rows, tile.rows * s.width) &&
                       all_finite(s.dout_rows, tile.rows * s.value_width);
    tile.keys_finite = all_finite(s.k, block.count * s.width);
  }
  const auto scale = static_cast<float>(problem.scale[tile.head]);
  for (std::int64_t j = 0, strip; j < block.count; j += strip) {
    strip = strip_of(block.count - j);
    const VectorRange range = range_of(tile, j, strip);
    product_in(range, strip,
               {.a = s.k + j * s.width,
                .a_row = s.width,
                .b = s.queries,
                .c = s.weights,
                .depth = problem.head_dim});
    product_in(range, strip,
               {.a = s.v + j * s.value_width,
                .a_row = s.value_width,
                .b = s.dout,
                .c = s.dscores + j * kTileRows,
                .depth = problem.value_dim});
    differentiate(tile, j, strip, range, scale, s);
    if (backward.dv.data != nullptr)
      add_to_keys(tile, j, strip, range, s.weights, s.dout_rows, s.value_width, s.dv);
    if (backward.dk.data != nullptr)
      add_to_keys(tile, j, strip, range, s.dscores + j * kTileRows, s.query_rows, s.width, s.dk);
  }
}

/// One row block of one head. dQ of the first key block is written, that of the others added.
inline void row_block_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                               const KeyBlock& block, std::int64_t head, std::int64_t begin,
                               BackwardScratch& s) {
  BackwardTile tile = {.head = head, .begin = begin};
  tile.rows = std::min(kTileRows, problem.sequences[block.batch].query_length - begin);
  if (problem.mask != nullptr) {
    const CallersFloatMode callers;
    const MaskPlace where = place(problem, block.batch, head);
    const MaskTile pairs = {begin, begin + tile.rows, block.begin, block.begin + block.count};
    tile.kind = problem.mask->tile(where, pairs);
    if (tile.partial()) problem.mask->bits(where, pairs, tile.visible);
  }
  const bool empty = tile.kind == TileClass::kEmpty;
  if (!empty) tile_gradients(problem, backward, block, tile, s);
  if (backward.dq.data == nullptr) return;
  if (!empty) query_gradient(tile, block.count, s);
  if (empty && block.index == 0) std::fill_n(s.dq, tile.rows * s.width, 0.0f);
  const std::int64_t row_blocks = (problem.query_length + kTileRows - 1) / kTileRows;
  const std::int64_t first_head = block.kv_head * (problem.heads / problem.kv_heads);
  const std::int64_t turn = (head - first_head) * row_blocks + begin / kTileRows;
  const Turn mine(block.turns == nullptr ? nullptr : block.turns + turn, block.index);
  const Output to =
      rows_at(backward.dq, block.batch, head, problem.sequences[block.batch].query_begin + begin);
  if (block.index == 0)
    write_rows(s.dq, s.width, tile.rows, problem.head_dim, to);
  else if (!empty)
    add_rows(s.dq, s.width, tile.rows, problem.head_dim, to);
}

inline void key_block_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                               const KeyBlock& block, BackwardScratch& s) {
  const Sequence& sequence = problem.sequences[block.batch];
  const std::int64_t slot = sequence.key_begin + block.begin;
  const auto at = [&](const auto& x) { return rows_at(x, block.batch, block.kv_head, slot); };
  const KeySpan span = {block.batch, block.kv_head, block.begin, block.count};
  kernels::HWY_NAMESPACE::load_keys(problem, keys_of(problem), span, s.width, s.k);
  kernels::HWY_NAMESPACE::load_keys(problem, values_of(problem), span, s.value_width, s.v);
  std::fill_n(s.dk, block.count * s.width, 0.0f);
  std::fill_n(s.dv, block.count * s.value_width, 0.0f);
  const std::int64_t group = problem.heads / problem.kv_heads;
  for (std::int64_t h = block.kv_head * group; h < (block.kv_head + 1) * group; ++h)
    for (std::int64_t row = 0; row < sequence.query_length; row += kTileRows)
      row_block_backward(problem, backward, block, h, row, s);
  if (backward.dk.data != nullptr)
    write_rows(s.dk, s.width, block.count, problem.head_dim, at(backward.dk));
  if (backward.dv.data != nullptr)
    write_rows(s.dv, s.value_width, block.count, problem.value_dim, at(backward.dv));
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
