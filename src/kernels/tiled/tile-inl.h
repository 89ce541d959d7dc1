// Tiles: their sizes, and how they are loaded and stored. Included once for each vector width
// (Highway's foreach_target).
#if defined(HEED_TILED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_TILE_INL_H_
#undef HEED_TILED_TILE_INL_H_
#else
#define HEED_TILED_TILE_INL_H_
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heed/tensor/bf16.h"
#include "heed/tensor/f16.h"
#include "kernels/attention.h"
#include "kernels/load_keys-inl.h"
#include "kernels/mask_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kRows = kMaskRows;  // of a tile: one bit each in a mask's words
constexpr std::int64_t kKeys = 64;
constexpr std::int64_t kPad = 16;  // columns of row-major tiles: whole vectors of 512 bits in f32
constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2 = 0.69314718055994530942;

constexpr std::int64_t padded(std::int64_t columns) { return (columns + kPad - 1) / kPad * kPad; }

// The lanes that hold `rows` rows, in whole vectors: what one row needs of a tile.
template <typename T>
std::int64_t lanes_of(std::int64_t rows) {
  const auto vector = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return (rows + vector - 1) / vector * vector;
}

// Element (r, c) of a matrix in memory.
template <typename T>
struct Matrix {
  T* data;
  std::int64_t row;
  std::int64_t column;

  T& at(std::int64_t r, std::int64_t c) const { return data[r * row + c * column]; }
};

// Aligned memory for one tile; none for 0 elements.
template <typename T>
struct Tile {
  Tile() = default;
  explicit Tile(std::int64_t elements) {
    if (elements > 0) memory = hwy::AllocateAligned<T>(static_cast<std::size_t>(elements));
  }
  T* get() const { return memory.get(); }
  hwy::AlignedFreeUniquePtr<T[]> memory;
};

// Rows [first, ...) of one head of an output of type T.
template <typename T>
Matrix<T> rows_of(const Output& x, std::int64_t batch, std::int64_t head, std::int64_t first) {
  return {static_cast<T*>(x.data) + batch * x.batch + head * x.head + first * x.row, x.row,
          x.column};
}

// Rows [first, first + rows) of one head as T: to[r][c], 0 in the padding columns.
template <typename T>
void load_rows(const Input& from, std::int64_t batch, std::int64_t head, std::int64_t first,
               std::int64_t rows, std::int64_t columns, T* HWY_RESTRICT to) {
  const std::int64_t width = padded(columns);
  const std::int64_t begin = batch * from.batch + head * from.head + first * from.row;
  for (std::int64_t r = 0; r < rows; ++r, to += width) {
    load_line(from, begin + r * from.row, from.column, columns, to);
    std::fill(to + columns, to + width, T{0});
  }
}

// to[c][r] = factor * from[r][c] for 64 lanes r, 0 beyond `rows`.
template <typename T>
void transpose(const T* HWY_RESTRICT from, std::int64_t rows, std::int64_t columns, T factor,
               T* HWY_RESTRICT to) {
  const std::int64_t width = padded(columns);
  if (rows < kRows) std::fill(to, to + columns * kRows, T{0});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * kRows + r] = factor * from[r * width + c];
}

// Element (r, c) of an output of any type: rounds once.
template <typename T>
void store_line(const Output& to, std::int64_t offset, std::int64_t count, const T* from) {
  const auto store = [&]<typename To>(To* data) {
    for (std::int64_t c = 0; c < count; ++c) {
      To& element = data[offset + c * to.column];
      if constexpr (sizeof(To) == 2) {
        element = To(static_cast<float>(from[c]));
      } else {
        element = static_cast<To>(from[c]);
      }
    }
  };
  if (to.dtype == DType::kF32) store(static_cast<float*>(to.data));
  if (to.dtype == DType::kF64) store(static_cast<double*>(to.data));
  if (to.dtype == DType::kF16) store(static_cast<f16*>(to.data));
  if (to.dtype == DType::kBF16) store(static_cast<bf16*>(to.data));
}

// What store_line took from the elements of a 16-bit output, which tells what stands in it.
template <typename T>
void store_rest(const Output& of, std::int64_t of_offset, const Output& to, std::int64_t offset,
                std::int64_t count, const T* from) {
  const auto store = [&]<typename To>(const To* stored, To* data) {
    for (std::int64_t c = 0; c < count; ++c) {
      const auto high = static_cast<float>(stored[of_offset + c * of.column]);
      const float rest = std::isfinite(high) ? static_cast<float>(from[c]) - high : 0;
      data[offset + c * to.column] = To(rest);
    }
  };
  if (to.dtype == DType::kF16) store(static_cast<const f16*>(of.data), static_cast<f16*>(to.data));
  if (to.dtype == DType::kBF16)
    store(static_cast<const bf16*>(of.data), static_cast<bf16*>(to.data));
}

inline std::int64_t offset_of(const Output& x, std::int64_t batch, std::int64_t head,
                              std::int64_t row) {
  return batch * x.batch + head * x.head + row * x.row;
}

template <typename T>
bool all_finite(const Matrix<const T>& matrix, std::int64_t rows, std::int64_t columns) {
  T sum = 0;  // x - x is 0, or NaN where x is not finite
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) sum += matrix.at(r, c) - matrix.at(r, c);
  return sum == 0;
}

// Selects: what is hidden becomes `hidden`, whatever it was, in the first lanes.
template <typename T>
void hide(const std::uint64_t* visible, std::int64_t keys, T hidden, T* HWY_RESTRICT tile,
          std::int64_t end = kRows) {
  const hn::ScalableTag<T> tag;
  const auto instead = hn::Set(tag, hidden);
  for (std::int64_t j = 0; j < keys; ++j, tile += kRows) {
    const std::uint64_t word = visible[j];
    if (word == ~std::uint64_t{0}) continue;
    for (std::int64_t i = 0; i < end; i += static_cast<std::int64_t>(hn::Lanes(tag))) {
      const auto seen = mask_lanes(tag, word, i);
      hn::Store(hn::IfThenElse(seen, hn::Load(tag, tile + i), instead), tag, tile + i);
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_TILE_INL_H_
