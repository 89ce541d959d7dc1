// One task of the forward pass: the stages over a block of rows. Included once for each target.
//
// Bound by the FMA ports: a vector of 16 scores takes D cycles for the two products (Dv = D) and
// about 5 for the softmax (10 uops on two ports), so at most 92 % of the FMA peak at D = 64 and
// 95.5 % at D = 128. Measured at N = 1024, one thread, AVX-512: 70 to 76 % of the peak of the same
// minute at both sizes.
#if defined(HEED_KERNELS_CPU_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_BLOCK_INL_H
#undef HEED_KERNELS_CPU_ATTENTION_BLOCK_INL_H
#else
#define HEED_KERNELS_CPU_ATTENTION_BLOCK_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/attention_bias-inl.h"
#include "kernels/cpu/attention_rows-inl.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/exp2-inl.h"
#include "kernels/cpu/few_query_rows-inl.h"
#include "kernels/cpu/tile_product-inl.h"
#include "kernels/load_keys-inl.h"
#include "kernels/mask_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// V rows a multiple of 512 bytes apart, beyond their own width, fall on few sets of the L1 cache:
/// a [B, T, H, D] array with H * D = 1024 uses one set of 64.
inline bool needs_copy(const Input& v, std::int64_t width, std::int64_t stride) {
  return v.dtype != DType::kF32 || v.column != 1 || width != stride ||
         (v.row % 128 == 0 && v.row > width);
}

/// f32 in one run is read where it lies; what is of another type, or in several pages, or around
/// the end of a ring, comes through a copy of this tile: its bytes in memory are read once.
inline void read_keys(const AttentionProblem& problem, const RowBlock& block, TileScratch& scratch,
                      KeyTile& keys) {
  const KeySpan span = {block.batch, block.kv_head, keys.begin, keys.keys()};
  const KeyRun run = first_run(problem, span);
  const bool one_run = run.count == span.count;
  const auto at = [&](const Input& input) {
    return static_cast<const float*>(rows_at(input, run.block, block.kv_head, run.row).data);
  };
  const Input& k = problem.k;
  const Input& v = problem.v;
  if (one_run && k.column == 1 && k.dtype == DType::kF32) {
    keys.k = at(k);
    keys.k_row = k.row;
  } else {
    kernels::HWY_NAMESPACE::load_keys(problem, keys_of(problem), span, problem.head_dim,
                                      scratch.k_copy);
    keys.k = scratch.k_copy;
    keys.k_row = problem.head_dim;
  }
  if (one_run && !needs_copy(v, problem.value_dim, scratch.value_stride)) {
    keys.v = at(v);
    keys.v_row = v.row;
  } else {
    kernels::HWY_NAMESPACE::load_keys(problem, values_of(problem), span, scratch.value_stride,
                                      scratch.v_copy);
    keys.v = scratch.v_copy;
    keys.v_row = scratch.value_stride;
  }
  keys.read = true;
}

/// S^T = K Q^T: a row of `scores` is a key, its lanes are query rows.
inline void scores_transposed(const AttentionProblem& problem, const KeyTile& keys,
                              const RowTile& tile, float* scores) {
  if (scores_of_few_rows(keys, tile, problem.head_dim, scores)) return;
  for (int lane = 0; lane < tile.rows; lane += kPanel) {
    const int vectors = std::min(kPanelVectors, (tile.rows - lane + kLanes - 1) / kLanes);
    for (std::int64_t i = 0, strip; i < keys.keys(); i += strip) {
      strip = strip_of(keys.keys() - i);
      product_of_size<Left::kByRow, Onto::kZero>(strip, vectors,
                                                 {.a = keys.k + i * keys.k_row,
                                                  .a_row = keys.k_row,
                                                  .b = tile.queries + lane,
                                                  .b_row = kTileRows,
                                                  .c = scores + i * kTileRows + lane,
                                                  .c_row = kTileRows,
                                                  .depth = problem.head_dim});
    }
  }
}

/// A score that its row may not see becomes -inf: selected, not added to.
inline void hide(const std::uint64_t* visible, std::int64_t keys, RowTile& tile, float* scores) {
  const Lanes d;
  const auto hidden = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < keys; ++j) {
    tile.seen |= visible[j];
    if (visible[j] == ~std::uint64_t{0}) continue;
    for (int lane = 0; lane < tile.rows; lane += kLanes) {
      float* at = scores + j * kTileRows + lane;
      const auto mask = kernels::HWY_NAMESPACE::mask_lanes(d, visible[j], lane);
      hn::Store(hn::IfThenElse(mask, hn::Load(d, at), hidden), d, at);
    }
  }
}

/// sum + sum_low = (sum + sum_low) * factor + weights: what f32 would lose of a long row's sum
/// stays in sum_low (Knuth's two-sum), so that recomputed rows sum to 1 at any length.
HWY_INLINE void add_to_sum(hn::Vec<Lanes> weights, hn::Vec<Lanes> factor, float* sum, float* low) {
  const Lanes d;
  const auto before = hn::Load(d, sum);
  const auto scaled = hn::Mul(before, factor);
  const auto total = hn::Add(scaled, weights);
  const auto added = hn::Sub(total, scaled);
  const auto lost = hn::Add(hn::Sub(scaled, hn::Sub(total, added)), hn::Sub(weights, added));
  const auto rounded = hn::MulSub(before, factor, scaled);
  hn::Store(total, d, sum);
  hn::Store(hn::MulAdd(hn::Load(d, low), factor, hn::Add(rounded, lost)), d, low);
}

/// The scores become weights relative to the running maximum of their row (Milakov & Gimelshein
/// 2018); maximum, sum, `moved` and `rescale` follow.
inline void softmax(std::int64_t keys, RowTile& tile, float* scores, float* rescale) {
  const Lanes d;
  const auto zero = hn::Zero(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  tile.moved = 0;
  for (int lane = 0; lane < tile.rows; lane += kLanes) {
    float* column = scores + lane;
    const auto before = hn::Load(d, tile.maximum + lane);
    auto m0 = before, m1 = before;
    std::int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      m0 = hn::Max(m0, hn::Load(d, column + j * kTileRows));
      m1 = hn::Max(m1, hn::Load(d, column + (j + 1) * kTileRows));
    }
    if (j < keys) m0 = hn::Max(m0, hn::Load(d, column + j * kTileRows));
    const auto maximum = hn::Max(m0, m1);
    // A row that has seen nothing keeps -inf; its reference is 0, so that -inf scores weigh 0.
    const auto reference = hn::IfThenElse(hn::Eq(maximum, lowest), zero, maximum);
    const auto factor = exp(d, hn::Sub(before, reference));
    auto s0 = zero, s1 = zero;
    const auto weigh = [&](std::int64_t key) HWY_ATTR {
      float* at = column + key * kTileRows;
      const auto p = exp(d, hn::Sub(hn::Load(d, at), reference));
      hn::Store(p, d, at);
      return p;
    };
    for (j = 0; j + 2 <= keys; j += 2) {
      s0 = hn::Add(s0, weigh(j));
      s1 = hn::Add(s1, weigh(j + 1));
    }
    if (j < keys) s0 = hn::Add(s0, weigh(j));
    hn::Store(maximum, d, tile.maximum + lane);
    add_to_sum(hn::Add(s0, s1), factor, tile.sum + lane, tile.sum_low + lane);
    hn::Store(factor, d, rescale + lane);
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Gt(maximum, before), reinterpret_cast<std::uint8_t*>(&bits));
    tile.moved |= bits << lane;
  }
}

/// O = O * rescale + P V.
inline void accumulate(const KeyTile& keys, const TileScratch& scratch, RowTile& tile) {
  const std::int64_t stride = scratch.value_stride;
  for (std::int64_t column = 0; column < stride; column += kPanel) {
    const int vectors = static_cast<int>(std::min<std::int64_t>(kPanel, stride - column)) / kLanes;
    for (std::int64_t i = 0, strip; i < tile.rows; i += strip) {
      strip = strip_of(tile.rows - i);
      const Product p = {.a = scratch.scores + i,
                         .b = keys.v + column,
                         .b_row = keys.v_row,
                         .c = tile.out + i * stride + column,
                         .c_row = stride,
                         .depth = keys.keys(),
                         .factor = scratch.rescale + i};
      if (!tile.started) {
        product_of_size<Left::kByDepth, Onto::kZero>(strip, vectors, p);
      } else if (((tile.moved >> i) & ((1U << strip) - 1)) != 0) {
        product_of_size<Left::kByDepth, Onto::kScale>(strip, vectors, p);
      } else {
        product_of_size<Left::kByDepth, Onto::kAdd>(strip, vectors, p);
      }
    }
  }
  tile.started = true;
}

/// Whether no value of the tile is an infinity or a NaN.
inline bool is_finite(const KeyTile& keys, std::int64_t width) {
  const Lanes d;
  auto found = hn::Zero(d);
  for (std::int64_t j = 0; j < keys.keys(); ++j) {
    const float* row = keys.v + j * keys.v_row;
    for (std::int64_t x = 0; x < width; x += kLanes) {
      const auto value = hn::LoadU(d, row + x);
      found = hn::Or(found, hn::Sub(value, value));  // 0 where finite, else NaN
    }
  }
  return hn::AllTrue(d, hn::Eq(found, hn::Zero(d)));
}

/// `accumulate` where 0 * V would not be 0: only visible values are touched, in the same order.
inline void accumulate_visible(const KeyTile& keys, const TileScratch& scratch,
                               const std::uint64_t* visible, RowTile& tile) {
  const Lanes d;
  for (int i = 0; i < tile.rows; ++i) {
    float* out = tile.out + i * scratch.value_stride;
    const auto factor = hn::Set(d, scratch.rescale[i]);
    for (std::int64_t x = 0; x < scratch.value_stride; x += kLanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t j = 0; j < keys.keys(); ++j) {
        if (((visible[j] >> i) & 1) == 0) continue;
        const auto weight = hn::Set(d, scratch.scores[j * kTileRows + i]);
        sum = hn::MulAdd(weight, hn::LoadU(d, keys.v + j * keys.v_row + x), sum);
      }
      if (tile.started) sum = hn::MulAdd(hn::Load(d, out + x), factor, sum);
      hn::Store(sum, d, out + x);
    }
  }
  tile.started = true;
}

inline void attend(const AttentionProblem& problem, const RowBlock& block, TileScratch& scratch,
                   KeyTile& keys, RowTile& tile) {
  TileClass kind = classify(problem, block.batch, tile, keys.begin, keys.end);
  if (kind == TileClass::kEmpty) return;
  if (!keys.read) read_keys(problem, block, scratch, keys);
  scores_transposed(problem, keys, tile, scratch.scores);
  alignas(8) std::uint64_t visible[kTileKeys];
  if (kind == TileClass::kPartial) visible_bits(problem, block.batch, tile, keys, visible);
  if (problem.score.bias.data != nullptr) {
    if (kind == TileClass::kFull) std::fill_n(visible, keys.keys(), ~std::uint64_t{0});
    if (add_bias(problem, block, keys, tile, scratch.scores, visible)) kind = TileClass::kPartial;
  }
  if (kind == TileClass::kPartial) {
    hide(visible, keys.keys(), tile, scratch.scores);
    if (keys.finite == KeyTile::Finite::kUnknown)
      keys.finite =
          is_finite(keys, scratch.value_stride) ? KeyTile::Finite::kYes : KeyTile::Finite::kNo;
  } else {
    tile.seen = ~std::uint64_t{0};
  }
  softmax(keys.keys(), tile, scratch.scores, scratch.rescale);
  if (kind == TileClass::kPartial && keys.finite == KeyTile::Finite::kNo)
    accumulate_visible(keys, scratch, visible, tile);
  else
    accumulate(keys, scratch, tile);
}

inline void attention_block(const AttentionProblem& problem, const AttentionForward& forward,
                            const RowBlock& block, TileScratch& scratch) {
  std::int64_t tiles = 0;
  for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows)
    begin_rows(problem, block, row, scratch.k_copy, scratch.rows[tiles++]);
  const std::int64_t length = problem.sequences[block.batch].key_length;
  constexpr std::int64_t kStride = 16 * kTileKeys;  // empty stretches are skipped at once
  bool stretch[kMaxTiles] = {};
  for (std::int64_t begin = 0; begin < length; begin += kTileKeys) {
    if (begin % kStride == 0)
      for (std::int64_t t = 0; t < tiles; ++t)
        stretch[t] = classify(problem, block.batch, scratch.rows[t], begin,
                              std::min(begin + kStride, length)) != TileClass::kEmpty;
    KeyTile keys = {.begin = begin, .end = std::min(begin + kTileKeys, length)};
    for (std::int64_t t = 0; t < tiles; ++t)
      if (stretch[t]) attend(problem, block, scratch, keys, scratch.rows[t]);
  }
  for (std::int64_t t = 0; t < tiles; ++t)
    finish_rows(problem, forward, block.batch, scratch.value_stride, scratch.rows[t]);
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
