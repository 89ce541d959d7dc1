// What bounds it, on one core of a Xeon: numbers as they occur let AMX run at 2,750 GFLOP/s of bf16
// (3,460 with zeros: the clock gives way to power), so 460 of f32 in six products, where FMA has
// 249 and oneDNN reaches 160 to 195 in training. There, 384 rows and widths of 128 to 512, this
// runs at 200 to 285: of its time 60 % are the products, 30 % the cutting, 10 % the output.
//
// The error against f64 (root mean square) is 0.2 to 0.45 of that by FMA.
//
// Tried there, within noise: the five small products of all steps before the large one (the error a
// third less); K in parts of 128, 192 or 256; prefetching the output, or the numbers to cut; huge
// pages.
#include "kernels/cpu/amx_tiles.h"

#include <immintrin.h>

// GCC 12's own avx512fintrin.h
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace heed::kernels::amx {
namespace {

constexpr std::int64_t kHalf = 16;  // lines of a tile

// The tiles of a block: 0 to 3 its sums, 4 and 5 of A, 6 and 7 of B.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constinit const TileConfig kConfig;

struct Cut {
  __m512 high, middle, low;
};

// To nearest, ties away from zero, so that what is left is at most half a unit.
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
  parts.low = _mm512_sub_ps(rest, parts.middle);  // 8 bits are left
  return parts;
}

// Upper halves of `first` and `second`: one behind the other, or in turns.
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
  std::int64_t second;  // where a row's second vector lies
};

// The sum of the low parts: NaN where a number or its high part is not finite.
inline __m512 cut_tile(const Square& from, __m512i order, Part* to) {
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < 16; ++i, to += 32) {
    const float* x = from.data + i * from.row;
    const Cut first = cut(_mm512_loadu_ps(x));
    const Cut second = cut(_mm512_loadu_ps(x + from.second));
    store(first.high, second.high, order, to);
    store(first.middle, second.middle, order, to + kPart);
    store(first.low, second.low, order, to + 2 * kPart);
    sum = _mm512_add_ps(sum, _mm512_add_ps(first.low, second.low));
  }
  return sum;
}

inline __m512 low_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

inline __m512 high_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

// to[i][j] = x[j][i], 16 x 16: first within each 4 x 4, then the 4 x 4 among each other.
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

// A rectangle of up to `rows` x `columns` that goes on with zeros.
inline void copy_padded(const float* x, std::int64_t x_row, std::int64_t rows, std::int64_t columns,
                        std::int64_t to_rows, std::int64_t to_columns, float* to) {
  for (std::int64_t i = 0; i < to_rows; ++i)
    for (std::int64_t j = 0; j < to_columns; j += 16) {
      const std::int64_t left = i < rows ? columns - j : 0;
      const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF
                                               : left > 0 ? (1 << left) - 1
                                                          : 0);
      _mm512_store_ps(to + i * to_columns + j, _mm512_maskz_loadu_ps(mask, x + i * x_row + j));
    }
}

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Lines [line, line + 16) at depths [depth, depth + 32) as a tile takes them.
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

// The sums are in tiles 0 to 3; `a` and `b` go on by a step.
inline void add_products(const Block& block) {
  constexpr int kHigh = 0;
  constexpr int kMiddle = kPart;
  constexpr int kLow = 2 * kPart;
  const Part* a = block.a;
  const Part* b = block.b;
  const auto load_a = [&a](int part) {
    _tile_loadd(4, a + part, 64);
    _tile_loadd(5, a + part + kTile, 64);
  };
  const auto load_b = [&b](int part) {
    _tile_loadd(6, b + part, 64);
    _tile_loadd(7, b + part + kTile, 64);
  };
  const auto add = [] {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  };
  for (std::int64_t step = 0; step < block.steps; ++step, a += kStep, b += kStep) {
    load_a(kLow);
    load_b(kHigh);
    add();
    load_a(kMiddle);
    add();
    load_b(kMiddle);
    add();
    load_a(kHigh);
    add();
    load_b(kLow);
    add();
    load_b(kHigh);
    add();
  }
}

// The bias is what every sum begins with, in whole blocks and in parts of one: the same bits.
inline void start_from_bias(const Block& block) {
  if (block.bias == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const float* bias = block.bias;
  alignas(64) float padded[kLines] = {};
  if (block.columns < kLines) {
    for (std::int64_t j = 0; j < block.columns; ++j) padded[j] = block.bias[j];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);  // GCC does not know that a tile reads memory
    bias = padded;
  }
  _tile_loadd(0, bias, 0);  // the same row 16 times
  _tile_loadd(1, bias + kHalf, 0);
  _tile_loadd(2, bias, 0);
  _tile_loadd(3, bias + kHalf, 0);
}

inline void store_tiles(float* out, std::int64_t row) {
  const std::int64_t bytes = row * static_cast<std::int64_t>(sizeof(float));
  _tile_stored(0, out, bytes);
  _tile_stored(1, out + kHalf, bytes);
  _tile_stored(2, out + kHalf * row, bytes);
  _tile_stored(3, out + kHalf * row + kHalf, bytes);
}

inline void write_rows(const float* sums, const Block& block) {
  for (std::int64_t j = 0; j < block.columns; j += kHalf) {
    const auto mask = static_cast<__mmask16>((1U << least(kHalf, block.columns - j)) - 1);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* to = block.out + i * block.out_row + j;
      __m512 sum = _mm512_load_ps(sums + i * kLines + j);
      if (block.accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum);
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
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
  return _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q) == 0;
}

void multiply(const Block& block) {
  start_from_bias(block);
  add_products(block);
  if (block.rows == kLines && block.columns == kLines && !block.accumulate) {
    store_tiles(block.out, block.out_row);
  } else {
    alignas(64) float sums[kLines * kLines];
    store_tiles(sums, kLines);
    write_rows(sums, block);
  }
}

Tiles::Tiles() { _tile_loadconfig(&kConfig); }

Tiles::~Tiles() { _tile_release(); }

}  // namespace heed::kernels::amx
