// Stores rows of results in the caller's type, rounded once. Included once for each target.
#if defined(HEED_SWEEP_STORE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_STORE_ROWS_INL_H
#undef HEED_SWEEP_STORE_ROWS_INL_H
#else
#define HEED_SWEEP_STORE_ROWS_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attention/sweep/scores-inl.h"
#include "heed/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Calls `use` with a null pointer of the element type.
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
    *to = f16(hn::GetLane(x));  // Highway's conversion lacks infinity there
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

/// The rounding error of `store_lanes`; 0 if the value is not finite.
template <typename T>
HWY_INLINE Vec<float> rest_of(Vec<float> x) {
  T stored[kLanes<float>];
  store_lanes(x, stored);
  const auto high = kernels::HWY_NAMESPACE::load_lanes(stored);
  return hn::IfThenElseZero(hn::IsFinite(high), hn::Sub(x, high));
}

/// `to` = factor * from; with `rest`, its rounding error instead. `from` is padded to a whole
/// vector, and the last elements take the same instructions as the others, so that a NaN has the
/// same bits at every place.
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

/// Stores `columns` numbers of one row at `offset` of `to`, times `factor`; with `rest`, stores the
/// rounding error instead, 0 where the value is not finite. `from` is padded to a whole vector, and
/// the last elements take the same instructions as the others, so that a NaN has the same bits at
/// every place.
inline void store_line(const Output& to, std::int64_t offset, std::int64_t columns,
                       const float* from, float factor, bool rest) {
  with_type(to.dtype, [&]<typename To>(To*) HWY_ATTR {
    write_line(from, factor, columns, to.column, rest, static_cast<To*>(to.data) + offset);
  });
}
/// Stores `count` numbers at `offset` of an output of any type, each rounded once.
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

/// Stores row `lane` times factors[lane] in out, and the rounding error in out_low; `lines` is
/// memory for whole_lines(Dv) numbers per lane of a vector. Rows of f32 are stored directly: lines
/// were read before they had reached the cache, and 16 rows took a quarter longer.
template <typename T>
void store_out(const AttentionProblem& problem, const AttentionForward& forward, std::int64_t batch,
               const RowSet& rows, const TileOut<T>& from, const T* factors, T* lines) {
  const std::int64_t columns = problem.value_dim;
  const std::int64_t width = whole_lines(columns);
  constexpr int kTogether = kLanes<T>;
  const Output& own = forward.out;
  const bool direct = own.dtype == kTypeOf<T> && own.column == 1 && forward.out_low.data == nullptr;
  int gathered = -1;
  for (int s = 0; s < rows.segment_count; ++s) {
    const Segment& segment = rows.segments[s];
    const std::int64_t slot = problem.sequences[batch].query_begin + segment.row;
    for (int r = 0, count = 1; r < segment.count; r += count) {
      const int lane = segment.lane + r;
      const int group = lane / kTogether;
      const auto gather = [&](T* to, std::int64_t row) HWY_ATTR {
        const int first = group * kTogether;
        lanes_to_rows(from.data + first / from.width * from.width * columns + first % from.width,
                      from.width, columns, factors + first, to, row);
      };
      count = 1;
      if (direct && !from.by_row && lane % kTogether == 0 && r + kTogether <= segment.count) {
        gather(static_cast<T*>(own.data) + batch * own.batch + segment.head * own.head +
                   (slot + r) * own.row,
               own.row);
        count = kTogether;
        continue;
      }
      if (!from.by_row && group != gathered) {
        gather(lines, width);
        gathered = group;
      }
      const T* const line =
          from.by_row ? from.data + lane * width : lines + lane % kTogether * width;
      const T factor = from.by_row ? factors[lane] : T{1};
      for (const Output* out : {&forward.out, &forward.out_low}) {
        if (out->data == nullptr) continue;
        const std::int64_t at =
            batch * out->batch + segment.head * out->head + (slot + r) * out->row;
        store_line(*out, at, columns, line, factor, out == &forward.out_low);
      }
    }
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
