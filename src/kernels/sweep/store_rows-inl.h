// Rows of results in the caller's type, rounded once. Included once for each target.
#if defined(HEED_SWEEP_STORE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_STORE_ROWS_INL_H
#undef HEED_SWEEP_STORE_ROWS_INL_H
#else
#define HEED_SWEEP_STORE_ROWS_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "heed/tensor/bf16.h"
#include "heed/tensor/f16.h"
#include "kernels/sweep/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Calls `use` with a null pointer to elements of the type.
template <typename Use>
inline void with_type(DType dtype, const Use& use) {
  if (dtype == DType::kF16)
    use(static_cast<f16*>(nullptr));
  else if (dtype == DType::kBF16)
    use(static_cast<bf16*>(nullptr));
  else
    use(static_cast<float*>(nullptr));
}

template <typename T>
HWY_INLINE void store_lanes(Vec<float> x, T* to) {
  const Tag<float> d;
  if constexpr (std::is_same_v<T, f16> && HWY_TARGET == HWY_SCALAR) {
    *to = f16(hn::GetLane(x));  // Highway's has no infinity there
  } else if constexpr (std::is_same_v<T, f16>) {
    const hn::Rebind<hwy::float16_t, Tag<float>> half;
    hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(to));
  } else if constexpr (std::is_same_v<T, bf16>) {
    const hn::RebindToSigned<Tag<float>> words;
    const hn::Rebind<std::uint16_t, Tag<float>> half;
    const auto bits = hn::BitCast(hn::RebindToUnsigned<Tag<float>>(), x);
    const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(hn::DFromV<decltype(bits)>(), 1));
    const auto rounding = hn::Add(last, hn::Set(hn::DFromV<decltype(bits)>(), 0x7FFF));
    const auto quiet = hn::Or(bits, hn::Set(hn::DFromV<decltype(bits)>(), 0x400000));
    const auto is_nan = hn::RebindMask(hn::DFromV<decltype(bits)>(), hn::IsNaN(x));
    const auto rounded = hn::IfThenElse(is_nan, quiet, hn::Add(bits, rounding));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(words, hn::ShiftRight<16>(rounded))), half,
               reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(x, d, to);
  }
}

/// The rounding error of `store_lanes`; 0 where it is not finite.
template <typename T>
HWY_INLINE Vec<float> rest_of(Vec<float> x) {
  T stored[kLanes<float>];
  store_lanes(x, stored);
  const auto high = kernels::HWY_NAMESPACE::load_lanes(stored);
  return hn::IfThenElseZero(hn::IsFinite(high), hn::Sub(x, high));
}

/// `to` = factor * from; with `rest`, the rounding error of that instead. The memory of `from` goes
/// on to a whole vector, and the last elements take the same instructions as the others, so that a
/// NaN has the same bits wherever it stands.
template <typename T>
inline void write_line(const float* from, float factor, std::int64_t width, std::int64_t column,
                       bool rest, T* to) {
  const Tag<float> d;
  for (std::int64_t x = 0; x < width; x += kLanes<float>) {
    auto value = hn::Mul(hn::Load(d, from + x), hn::Set(d, factor));
    if (rest) value = rest_of<T>(value);
    if (column == 1 && x + kLanes<float> <= width) {
      store_lanes(value, to + x);
      continue;
    }
    T some[kLanes<float>];
    store_lanes(value, some);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(kLanes<float>, width - x); ++i)
      to[(x + i) * column] = some[i];
  }
}

/// `columns` numbers of one row at `offset` of `to`, times `factor`; with `rest`, what rounding
/// took from them instead, 0 where it is not finite. The memory of `from` goes on to a whole
/// vector, and the last elements take the same instructions as the others, so that a NaN has the
/// same bits wherever it stands.
inline void store_line(const Output& to, std::int64_t offset, std::int64_t columns,
                       const float* from, float factor, bool rest) {
  with_type(to.dtype, [&]<typename To>(To*) HWY_ATTR {
    write_line(from, factor, columns, to.column, rest, static_cast<To*>(to.data) + offset);
  });
}
/// `count` numbers at `offset` of an output of any type, each rounded once.
template <typename T>
void store_numbers(const Output& to, std::int64_t offset, std::int64_t count, const T* from) {
  const auto store = [&]<typename To>(To* data) {
    for (std::int64_t c = 0; c < count; ++c) {
      if constexpr (sizeof(To) == 2)
        data[offset + c * to.column] = To(static_cast<float>(from[c]));
      else
        data[offset + c * to.column] = static_cast<To>(from[c]);
    }
  };
  if (to.dtype == DType::kF32) store(static_cast<float*>(to.data));
  if (to.dtype == DType::kF64) store(static_cast<double*>(to.data));
  if (to.dtype == DType::kF16) store(static_cast<f16*>(to.data));
  if (to.dtype == DType::kBF16) store(static_cast<bf16*>(to.data));
}

inline void store_line(const Output& to, std::int64_t offset, std::int64_t columns,
                       const double* from, double factor, bool /*rest*/) {
  constexpr std::int64_t kTogether = 64;
  double some[kTogether];
  for (std::int64_t x = 0; x < columns; x += kTogether) {
    const std::int64_t count = std::min(kTogether, columns - x);
    for (std::int64_t c = 0; c < count; ++c) some[c] = from[x + c] * factor;
    store_numbers(to, offset + x * to.column, count, some);
  }
}

/// The output of up to 64 rows: [strip][Dv][width], or [row][whole_lines(Dv)].
template <typename T>
struct TileOut {
  const T* data = nullptr;
  bool by_row = false;
  int width = kStripRows<T>;
};

/// Rows [first, first + 4) of the lanes as lines of whole_lines(columns).
template <typename T>
void gather_four(const TileOut<T>& from, int first, std::int64_t columns, T* lines) {
  const std::int64_t line = whole_lines(columns);
  const std::int64_t step = from.width;
  const T* column = from.data + first / step * step * columns + first % step;
  std::int64_t x = 0;
  if (kStripRows<T> % 4 == 0)
    for (; x + 4 <= columns; x += 4, column += 4 * step) {
      const T* const four[4] = {column, column + step, column + 2 * step, column + 3 * step};
      transpose_four(four, 4, T{1}, lines + x, line);
    }
  for (; x < columns; ++x, column += step)
    for (int r = 0; r < std::min(4, kStripRows<T>); ++r) lines[r * line + x] = column[r];
}

/// Whether `store_four` can write the rows of a tile.
template <typename T>
bool stores_four(const AttentionForward& forward, const TileOut<T>& from, std::int64_t columns) {
  return std::is_same_v<T, float> && kStripRows<T> % 4 == 0 && !from.by_row && columns % 4 == 0 &&
         forward.out.dtype == DType::kF32 && forward.out.column == 1 &&
         forward.out_low.data == nullptr;
}

/// Lanes [first, first + 4) times their factors to four rows of f32, without lines between: those
/// were read before they had reached the cache, which took a quarter of the time of 16 rows.
template <typename T>
void store_four(const TileOut<T>& from, int first, std::int64_t columns, const T* factors, T* to,
                std::int64_t to_row) {
  const std::int64_t step = from.width;
  const T* column = from.data + first / step * step * columns + first % step;
  for (std::int64_t x = 0; x < columns; x += 4, column += 4 * step) {
    const T* const four[4] = {column, column + step, column + 2 * step, column + 3 * step};
    transpose_four(four, 4, factors + first, to + x, to_row);
  }
}

/// Row `lane` times factors[lane] to its place in out, and what rounding took to out_low; `lines`
/// is memory for [4][whole_lines(Dv)].
template <typename T>
void store_out(const AttentionProblem& problem, const AttentionForward& forward, std::int64_t batch,
               const RowSet& rows, const TileOut<T>& from, const T* factors, T* lines) {
  const std::int64_t columns = problem.value_dim;
  const std::int64_t width = whole_lines(columns);
  constexpr int kTogether = kStripRows<T> < 4 ? kStripRows<T> : 4;
  const bool four = stores_four(forward, from, columns);
  int gathered = -1;
  for (int s = 0; s < rows.segment_count; ++s) {
    const Segment& segment = rows.segments[s];
    const std::int64_t slot = problem.sequences[batch].query_begin + segment.row;
    for (int r = 0; r < segment.count; ++r) {
      const int lane = segment.lane + r;
      if (four && lane % 4 == 0 && r + 4 <= segment.count) {
        const Output& out = forward.out;
        store_four(from, lane, columns, factors,
                   static_cast<T*>(out.data) + batch * out.batch + segment.head * out.head +
                       (slot + r) * out.row,
                   out.row);
        r += 3;
        continue;
      }
      const T* line = from.data + lane * width;
      if (!from.by_row) {
        if (lane / kTogether != gathered) {
          gathered = lane / kTogether;
          gather_four(from, gathered * kTogether, columns, lines);
        }
        line = lines + lane % kTogether * width;
      }
      for (const Output* out : {&forward.out, &forward.out_low}) {
        if (out->data == nullptr) continue;
        const std::int64_t at =
            batch * out->batch + segment.head * out->head + (slot + r) * out->row;
        store_line(*out, at, columns, line, factors[lane], out == &forward.out_low);
      }
    }
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
