// The parts that forward, backward and observation share: loading tiles, products, exp2. Included
// once for each vector width (Highway's foreach_target).
#if defined(HEED_TILED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_TILE_INL_H_
#undef HEED_TILED_TILE_INL_H_
#else
#define HEED_TILED_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kRows = kMaskRows;  // of a tile: one bit each in a mask's words
constexpr std::int64_t kKeys = 64;
constexpr std::int64_t kPad = 16;  // columns of row-major tiles: whole vectors of 512 bits in f32
constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2 = 0.69314718055994530942;

constexpr std::int64_t padded(std::int64_t columns) { return (columns + kPad - 1) / kPad * kPad; }

// Element (r, c) of a matrix in memory.
template <typename T>
struct Matrix {
  T* data;
  std::int64_t row;
  std::int64_t column;

  T& at(std::int64_t r, std::int64_t c) const { return data[r * row + c * column]; }
};

// Rows [first, ...) of one head of an operand.
template <typename T, typename Operand>
Matrix<T> rows_of(const Operand& x, std::int64_t batch, std::int64_t head, std::int64_t first) {
  return {static_cast<T*>(x.data) + batch * x.batch + head * x.head + first * x.row, x.row,
          x.column};
}

// to[c][r] = factor * from(r, c) for 64 lanes r, 0 beyond `rows`.
template <typename T>
void load_transposed(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns, T factor,
                     T* HWY_RESTRICT to) {
  if (rows < kRows) std::fill(to, to + columns * kRows, T{0});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * kRows + r] = factor * from.at(r, c);
}

// to[r][c] = from(r, c), 0 in the padding columns.
template <typename T>
void load_rows(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
               T* HWY_RESTRICT to) {
  const std::int64_t width = padded(columns);
  for (std::int64_t r = 0; r < rows; ++r, to += width) {
    if (from.column == 1) {
      const T* HWY_RESTRICT line = from.data + r * from.row;
      for (std::int64_t c = 0; c < columns; ++c) to[c] = line[c];
    } else {
      for (std::int64_t c = 0; c < columns; ++c) to[c] = from.at(r, c);
    }
    for (std::int64_t c = columns; c < width; ++c) to[c] = 0;
  }
}

template <typename T>
bool all_finite(const Matrix<const T>& matrix, std::int64_t rows, std::int64_t columns) {
  T sum = 0;  // x - x is 0, or NaN where x is not finite
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) sum += matrix.at(r, c) - matrix.at(r, c);
  return sum == 0;
}

// R rows x N vectors of c (+)= a b, kept in registers over the whole depth. c is added at the end:
// added one by one, the terms of 100,000 keys would drift.
template <int R, int N, class Tag, typename T = hn::TFromD<Tag>>
HWY_INLINE void product_block(Tag tag, const Matrix<const T>& a, const T* HWY_RESTRICT b,
                              std::int64_t b_row, std::int64_t depth, bool add, T* HWY_RESTRICT c,
                              std::int64_t c_row) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  hn::Vec<Tag> sums[R][N];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sums[r][n] = hn::Zero(tag);
  for (std::int64_t p = 0; p < depth; ++p) {
    hn::Vec<Tag> line[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) line[n] = hn::Load(tag, b + p * b_row + n * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto factor = hn::Set(tag, a.at(r, p));
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(factor, line[n], sums[r][n]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      T* to = c + r * c_row + n * lanes;
      hn::Store(add ? hn::Add(hn::Load(tag, to), sums[r][n]) : sums[r][n], tag, to);
    }
}

// What a product is over: c[rows][lanes] (+)= a[rows][depth] b[depth][lanes]. b and c are
// row-major; lanes is a multiple of the vector. Every element is one chain of fma, depth rising.
struct Extent {
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t lanes;
};

// 6 x 2: 12 accumulators, 2 lines and a broadcast fit AVX2's 16 registers, and hide the latency of
// 4 cycles at 2 fma a cycle.
template <int N, class Tag, typename T = hn::TFromD<Tag>>
HWY_INLINE void product_lanes(Tag tag, const Extent& extent, Matrix<const T> a, const T* b,
                              std::int64_t b_row, bool add, T* c, std::int64_t c_row) {
  std::int64_t rows = extent.rows;
  for (; rows >= 6; rows -= 6, a.data += 6 * a.row, c += 6 * c_row)
    product_block<6, N>(tag, a, b, b_row, extent.depth, add, c, c_row);
  if (rows >= 4) {
    product_block<4, N>(tag, a, b, b_row, extent.depth, add, c, c_row);
    rows -= 4, a.data += 4 * a.row, c += 4 * c_row;
  }
  for (; rows > 0; --rows, a.data += a.row, c += c_row)
    product_block<1, N>(tag, a, b, b_row, extent.depth, add, c, c_row);
}

template <typename T>
HWY_NOINLINE void product(const Extent& extent, const Matrix<const T>& a, const T* b,
                          std::int64_t b_row, bool add, T* c, std::int64_t c_row) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t lane = 0;
  for (; lane + 2 * lanes <= extent.lanes; lane += 2 * lanes)
    product_lanes<2>(tag, extent, a, b + lane, b_row, add, c + lane, c_row);
  for (; lane < extent.lanes; lane += lanes)
    product_lanes<1>(tag, extent, a, b + lane, b_row, add, c + lane, c_row);
}

// As `product`, over the visible pairs only: for partial tiles whose other factor holds NaN or
// infinity, which a weight of 0 would let through. Sums over the keys (b by key, c by row) or over
// the rows (b by row, c by key); the same bits as `product` where nothing is hidden.
enum class SumOver : std::uint8_t { kAllKeys, kAllRows };

template <typename T>
struct VisibleWeights {
  const T* data;  // [keys][64]
  const std::uint64_t* visible;
  std::int64_t keys;
  std::int64_t rows;
};

template <SumOver kOver, typename T>
void visible_product(const VisibleWeights<T>& weights, const Matrix<const T>& b,
                     std::int64_t columns, const Matrix<T>& c) {
  constexpr bool kKeysAreSummed = kOver == SumOver::kAllKeys;
  const hn::FixedTag<T, 1> one;  // rounds as the product does, with or without fused instructions
  const std::int64_t depth = kKeysAreSummed ? weights.keys : weights.rows;
  const std::int64_t lines = kKeysAreSummed ? weights.rows : weights.keys;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t d = 0; d < columns; ++d) {
      auto sum = hn::Zero(one);
      for (std::int64_t p = 0; p < depth; ++p) {
        const std::int64_t j = kKeysAreSummed ? p : line;
        const std::int64_t i = kKeysAreSummed ? line : p;
        if ((weights.visible[j] >> i & 1) != 0)
          sum =
              hn::MulAdd(hn::Set(one, weights.data[j * kRows + i]), hn::Set(one, b.at(p, d)), sum);
      }
      c.at(line, d) += hn::GetLane(sum);
    }
}

// Selects: what is hidden becomes `hidden`, whatever it was.
template <typename T>
void hide(const std::uint64_t* visible, std::int64_t keys, T hidden, T* HWY_RESTRICT tile) {
  for (std::int64_t j = 0; j < keys; ++j, tile += kRows) {
    const std::uint64_t word = visible[j];
    if (word == ~std::uint64_t{0}) continue;
    for (int i = 0; i < kRows; ++i) tile[i] = (word >> i & 1) != 0 ? tile[i] : hidden;
  }
}

template <typename T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  using Bits = std::int32_t;
  static constexpr int kMantissa = 23, kBias = 127, kDegree = 7;
  static constexpr float kRound = 0x1.8p23F;
};
template <>
struct Exp2Constants<double> {
  using Bits = std::int64_t;
  static constexpr int kMantissa = 52, kBias = 1023, kDegree = 13;
  static constexpr double kRound = 0x1.8p52;
};

// 2^x. x = n + f with |f| <= 1/2; e^(f ln 2) by Taylor, whose remainder is below half an ulp at the
// degree chosen; 2^n by its exponent bits. Results below the normal numbers are 0, NaN stays NaN.
template <class Tag>
HWY_INLINE hn::Vec<Tag> exp2(Tag tag, hn::Vec<Tag> x) {
  using T = hn::TFromD<Tag>;
  using Constants = Exp2Constants<T>;
  const hn::Rebind<typename Constants::Bits, Tag> bits_tag;
  const auto least = hn::Set(tag, T{1} - Constants::kBias);
  const auto most = hn::Set(tag, T{1} + Constants::kBias);
  const auto tiny = hn::Lt(x, least);
  x = hn::IfThenElse(hn::Gt(x, most), most, x);
  const auto shifted = hn::Add(x, hn::Set(tag, Constants::kRound));  // n in the low bits
  const auto y = hn::Mul(hn::Sub(x, hn::Sub(shifted, hn::Set(tag, Constants::kRound))),
                         hn::Set(tag, static_cast<T>(kLn2)));
  double factorial = 1;
  for (int k = 2; k <= Constants::kDegree; ++k) factorial *= k;
  auto sum = hn::Set(tag, static_cast<T>(1 / factorial));
#pragma GCC unroll 16
  for (int k = Constants::kDegree; k >= 1; --k) {
    factorial /= k;
    sum = hn::MulAdd(sum, y, hn::Set(tag, static_cast<T>(1 / factorial)));
  }
  const auto exponent =
      hn::Add(hn::BitCast(bits_tag, shifted), hn::Set(bits_tag, Constants::kBias));
  const auto power = hn::BitCast(tag, hn::ShiftLeft<Constants::kMantissa>(exponent));
  return hn::IfThenZeroElse(tiny, hn::Mul(sum, power));
}

// The log-sum-exp of 64 rows in base 2, as a sum of two T; rows that do not exist get 0.
template <typename T>
struct RowLse {
  alignas(64) T high[kRows];
  alignas(64) T low[kRows];

  void load(const T* lse, const T* lse_low, std::int64_t rows) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double natural =
          i < rows ? static_cast<double>(lse[i]) + static_cast<double>(lse_low[i]) : 0.0;
      const double base2 = natural * kLog2E;
      high[i] = static_cast<T>(base2);
      low[i] = std::isfinite(high[i]) ? static_cast<T>(base2 - static_cast<double>(high[i])) : T{0};
    }
  }
};

// Scores (base 2) to weights.
template <typename T>
void weigh(const RowLse<T>& lse, std::int64_t keys, const T* scores, T* weights) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t i = 0; i < kRows; i += lanes) {
      const auto above =
          hn::Sub(hn::Load(tag, scores + j * kRows + i), hn::Load(tag, lse.high + i));
      hn::Store(exp2(tag, hn::Sub(above, hn::Load(tag, lse.low + i))), tag,
                weights + j * kRows + i);
    }
}

// The factor of q: kernels/attention.h says why every kernel takes this one.
template <typename T>
T query_factor(const AttentionProblem& problem, std::int64_t head) {
  return static_cast<T>(problem.scale[head] * kLog2E);
}

// Where a tile stands and what of it is visible.
struct TileMask {
  TileClass kind = TileClass::kFull;
  std::uint64_t visible[kKeys];  // of partial tiles

  bool partial() const { return kind == TileClass::kPartial; }

  void look(const MaskRule* mask, const MaskPlace& where, const MaskTile& tile) {
    kind = mask == nullptr ? TileClass::kFull : mask->tile(where, tile);
    if (partial()) mask->bits(where, tile, visible);
  }
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_TILE_INL_H_
