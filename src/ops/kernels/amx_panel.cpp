#include <immintrin.h>

#include "ops/kernels/amx_tiles.h"

// GCC 12's own avx512fintrin.h
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace heed::kernels::amx {
namespace {

struct Cut {
  __m512 high, middle, low;
};

// Rounds to nearest, ties away from zero, so that the remainder is at most half a unit.
inline __m512 rounded_to_bf16(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper));
}

inline Cut cut(__m512 x) {
  Cut parts;
  parts.high = rounded_to_bf16(x);
  const __m512 rest = _mm512_sub_ps(x, parts.high);
  parts.middle = rounded_to_bf16(rest);
  parts.low = _mm512_sub_ps(rest, parts.middle);  // 8 bits remain
  return parts;
}

// Upper halves of `first` and `second`: concatenated, or alternating.
inline __m512i order_of(TileRows rows) {
  alignas(64) std::uint16_t order[32];
  for (int i = 0; i < 32; ++i) {
    const int element = rows == TileRows::kLine ? i : i / 2 + 16 * (i % 2);
    order[i] = static_cast<std::uint16_t>(2 * element + 1);
  }
  return _mm512_load_si512(order);
}

inline void store(__m512 first, __m512 second, __m512i order, Part* to) {
  _mm512_store_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(first), order,
                                                   _mm512_castps_si512(second)));
}

// 512 numbers as 16 rows of two vectors.
struct Square {
  const float* data;
  std::int64_t row;     // stride
  std::int64_t second;  // offset of a row's second vector
};

// The sum of the numbers times 2^69: not finite if a number is not finite or is 2^59 or more.
inline __m512 cut_tile(const Square& from, __m512i order, Part* to) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < 16; ++i, to += 32) {
    const float* x = from.data + i * from.row;
    const __m512 a = _mm512_loadu_ps(x);
    const __m512 b = _mm512_loadu_ps(x + from.second);
    const Cut first = cut(a);
    const Cut second = cut(b);
    store(first.high, second.high, order, to);
    store(first.middle, second.middle, order, to + kPart);
    store(first.low, second.low, order, to + 2 * kPart);
    sum = _mm512_fmadd_ps(a, _mm512_set1_ps(0x1p69F), sum);
    sum = _mm512_fmadd_ps(b, _mm512_set1_ps(0x1p69F), sum);
  }
  return sum;
}

inline __m512 low_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

inline __m512 high_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

// to[i][j] = x[j][i], 16 x 16: first within each 4 x 4, then between the 4 x 4.
inline void transpose(const float* x, std::int64_t x_row, float* to, std::int64_t to_row) {
  __m512 a[16];
  __m512 b[16];
  for (int i = 0; i < 16; i += 2) {
    const __m512 even = _mm512_loadu_ps(x + i * x_row);
    const __m512 odd = _mm512_loadu_ps(x + (i + 1) * x_row);
    a[i] = _mm512_unpacklo_ps(even, odd);
    a[i + 1] = _mm512_unpackhi_ps(even, odd);
  }
  for (int i = 0; i < 16; i += 4) {
    b[i] = low_pairs(a[i], a[i + 2]);
    b[i + 1] = high_pairs(a[i], a[i + 2]);
    b[i + 2] = low_pairs(a[i + 1], a[i + 3]);
    b[i + 3] = high_pairs(a[i + 1], a[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    a[i] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0x88);
    a[i + 4] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0xdd);
    a[i + 8] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0x88);
    a[i + 12] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    _mm512_store_ps(to + i * to_row, _mm512_shuffle_f32x4(a[i], a[i + 8], 0x88));
    _mm512_store_ps(to + (i + 4) * to_row, _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0x88));
    _mm512_store_ps(to + (i + 8) * to_row, _mm512_shuffle_f32x4(a[i], a[i + 8], 0xdd));
    _mm512_store_ps(to + (i + 12) * to_row, _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0xdd));
  }
}

// A rectangle of up to `rows` x `columns`, padded with zeros.
inline void copy_padded(const float* x, std::int64_t x_row, std::int64_t rows, std::int64_t columns,
                        std::int64_t to_rows, std::int64_t to_columns, float* to) {
  for (std::int64_t i = 0; i < to_rows; ++i)
    for (std::int64_t j = 0; j < to_columns; j += 16) {
      const __mmask16 mask = first_lanes(i < rows ? columns - j : 0);
      _mm512_store_ps(to + i * to_columns + j, _mm512_maskz_loadu_ps(mask, x + i * x_row + j));
    }
}

// Lines [line, line + 16) at depths [depth, depth + 32) in a tile's layout.
inline __m512 cut_square(const Lines& from, std::int64_t line, std::int64_t depth, TileRows rows,
                         __m512i order, Part* to) {
  alignas(64) float padded[kTile];
  alignas(64) float turned[kTile];
  const bool depth_is_contiguous = from.depth == 1;
  const float* x = from.data + line * from.line + depth * from.depth;
  std::int64_t row = depth_is_contiguous ? from.line : from.depth;
  const std::int64_t lines = least(kHalf, from.count - line);
  const std::int64_t depths = least(kDepth, from.length - depth);
  if (lines < kHalf || depths < kDepth) {
    if (depth_is_contiguous)
      copy_padded(x, row, lines, depths, kHalf, kDepth, padded);
    else
      copy_padded(x, row, depths, lines, kDepth, kHalf, padded);
    x = padded;
    row = depth_is_contiguous ? kDepth : kHalf;
  }
  if (depth_is_contiguous != (rows == TileRows::kLine)) {
    const std::int64_t turned_row = depth_is_contiguous ? kHalf : kDepth;
    transpose(x, row, turned, turned_row);
    transpose(x + 16 * (depth_is_contiguous ? 1 : row), row,
              turned + 16 * (depth_is_contiguous ? turned_row : 1), turned_row);
    x = turned;
    row = turned_row;
  }
  const Square square = rows == TileRows::kLine ? Square{x, row, 16} : Square{x, 2 * row, row};
  return cut_tile(square, order, to);
}

}  // namespace

bool cut_panel(const Lines& from, TileRows rows, Part* to) {
  const __m512i order = order_of(rows);
  __m512 sum = _mm512_setzero_ps();
  for (std::int64_t depth = 0; depth < from.length; depth += kDepth, to += kStep)
    for (std::int64_t half = 0; half < 2; ++half) {
      Part* tile = to + half * kTile;
      if (half * kHalf < from.count) {
        sum = _mm512_add_ps(sum, cut_square(from, half * kHalf, depth, rows, order, tile));
      } else {
        for (std::int64_t part = 0; part < kStep; part += kPart)
          for (std::int64_t i = 0; i < kTile; i += 32)
            _mm512_store_si512(tile + part + i, _mm512_setzero_si512());
      }
    }
  const __m512 gone = _mm512_sub_ps(sum, sum);  // NaN if the sum is not finite
  return _mm512_cmp_ps_mask(gone, gone, _CMP_UNORD_Q) == 0;
}

}  // namespace heed::kernels::amx
