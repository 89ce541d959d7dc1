// Scores of a few query rows, as a step of a decoder has them: the keys in the lanes. Included once
// a target.
//
// With the rows in the lanes, one of sixteen was work, and six sums at a time waited for each
// other. These are the same sums in the same order. One row of 12 heads of 64 over as many
// key/value heads, one thread of an AMD EPYC (Zen 5), microseconds for 250 and 4,000 keys: AVX-512
// 47 and 1,349 before, 29 and 742 now; AVX2 52 and 2,012, 33 and 879. With two threads, which a row
// of 250 keys was too short for, 15 and 303.
#if defined(HEED_KERNELS_CPU_FEW_QUERY_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_FEW_QUERY_ROWS_INL_H
#undef HEED_KERNELS_CPU_FEW_QUERY_ROWS_INL_H
#else
#define HEED_KERNELS_CPU_FEW_QUERY_ROWS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/tile_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kMostFewRows = 4;
constexpr int kKeyVectors = 2;  // as many chains a row
constexpr int kKeysAtOnce = kKeyVectors * kLanes;

/// Four floats from each of `from`, `from` + step, ...: a block of 128 bits each.
HWY_INLINE hn::Vec<Lanes> load_blocks(const float* from, std::int64_t step) {
  const Lanes d;
  auto blocks = hn::LoadDup128(d, from);
#pragma GCC unroll 4
  for (int b = 1; b < kLanes / 4; ++b)
    blocks = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(4 * b)), blocks,
                            hn::LoadDup128(d, from + b * step));
  return blocks;
}

/// Four columns of kLanes keys: columns[u] holds number u of each of them.
HWY_INLINE void load_columns(const float* k, std::int64_t k_row, hn::Vec<Lanes> (&columns)[4]) {
  const Lanes d;
  const hn::Repartition<double, Lanes> pairs;
  const auto a = load_blocks(k, 4 * k_row), b = load_blocks(k + k_row, 4 * k_row);
  const auto c = load_blocks(k + 2 * k_row, 4 * k_row), e = load_blocks(k + 3 * k_row, 4 * k_row);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  columns[0] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low));
  columns[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low));
  columns[2] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high));
  columns[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high));
}

/// Scores of kKeysAtOnce keys from `k` on; `queries` [D][kTileRows], `scores` [key][kTileRows].
template <int kRows>
HWY_INLINE void scores_of_keys(const float* k, std::int64_t k_row, const float* queries,
                               std::int64_t head_dim, float* scores) {
  const Lanes d;
  hn::Vec<Lanes> sums[kKeyVectors][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kKeyVectors; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sums[g][i] = hn::Zero(d);
  }
  for (std::int64_t x = 0; x < head_dim; x += 4, queries += 4 * kTileRows) {
#pragma GCC unroll 2
    for (int g = 0; g < kKeyVectors; ++g) {
      hn::Vec<Lanes> columns[4];
      load_columns(k + g * kLanes * k_row + x, k_row, columns);
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i)
          sums[g][i] = hn::MulAdd(columns[u], hn::Set(d, queries[u * kTileRows + i]), sums[g][i]);
      }
    }
  }
  alignas(64) float by_row[kRows][kKeysAtOnce];
  for (int g = 0; g < kKeyVectors; ++g)
    for (int i = 0; i < kRows; ++i) hn::Store(sums[g][i], d, by_row[i] + g * kLanes);
  for (int key = 0; key < kKeysAtOnce; ++key, scores += kTileRows) {
    hn::Store(hn::Zero(d), d, scores);  // the lanes of no row
    for (int i = 0; i < kRows; ++i) scores[i] = by_row[i][key];
  }
}

template <int kRows>
HWY_NOINLINE void scores_of_rows(const KeyTile& keys, const float* queries, std::int64_t head_dim,
                                 float* scores) {
  for (std::int64_t j = 0; j < keys.keys(); j += kKeysAtOnce) {
    const std::int64_t from = std::min(j, keys.keys() - kKeysAtOnce);  // the last ones: some again
    scores_of_keys<kRows>(keys.k + from * keys.k_row, keys.k_row, queries, head_dim,
                          scores + from * kTileRows);
  }
}

/// S^T = K Q^T of at most kMostFewRows rows; false where the shape is not one for it.
inline bool scores_of_few_rows(const KeyTile& keys, const RowTile& tile, std::int64_t head_dim,
                               float* scores) {
  if (tile.rows > kMostFewRows || keys.keys() < kKeysAtOnce || head_dim % 4 != 0) return false;
  if (tile.rows == 1)
    scores_of_rows<1>(keys, tile.queries, head_dim, scores);
  else if (tile.rows == 2)
    scores_of_rows<2>(keys, tile.queries, head_dim, scores);
  else
    scores_of_rows<4>(keys, tile.queries, head_dim, scores);
  return true;
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
