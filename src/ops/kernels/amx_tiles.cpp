// Limits, on one core of a Xeon: with realistic numbers AMX runs at 2,750 GFLOP/s of bf16 (3,460
// with zeros: power limits the clock), so 460 of f32 in six products; FMA has 249. In the products
// of a training step, operands in the L3 cache, this runs at 200 to 285 including the cutting of
// both operands, and oneDNN 2.6.3 at 160 to 195; in a loop over one product (heed bench matmul) at
// 235 to 335 and 175 to 205. Products take 60 % of the time, cutting 30 %, output 10 %.
//
// The error against f64 (root mean square) is 0.25 to 0.7 of FMA's for normal and for positive
// numbers, and about the same if numbers of one sum differ by orders of magnitude.
//
// Tried there, without measurable effect: the five small products of all steps before the large one
// (the error a third less); K in parts of 128, 192 or 256; prefetching the output, or the numbers
// to cut; huge pages.
#include "ops/kernels/amx_tiles.h"

#include <immintrin.h>

namespace heed::kernels::amx {
namespace {

// The tiles of a block: 0 to 3 for its sums, 4 and 5 for A, 6 and 7 for B.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constinit const TileConfig kConfig;

// GCC does not know that loading a tile reads memory, so it might delay earlier stores.
inline void all_is_written() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// The sums are in tiles 0 to 3; advances `a` and `b` by a step.
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
    if (block.high_parts_alone) {
      load_a(kHigh);
      load_b(kHigh);
      add();
      continue;
    }
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

// Every sum starts from the bias, in whole blocks and in partial ones: the same bits.
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
    bias = padded;
  }
  all_is_written();
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
    const __mmask16 mask = first_lanes(block.columns - j);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* to = block.out + i * block.out_row + j;
      __m512 sum = _mm512_load_ps(sums + i * kLines + j);
      if (block.accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum);
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
}

}  // namespace

void multiply(const Block& block) {
  all_is_written();
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
