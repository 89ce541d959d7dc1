// Rows of results in the caller's type, rounded once. Included once for each target.
#if defined(HEED_SWEEP_STORE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_STORE_ROWS_INL_H
#undef HEED_SWEEP_STORE_ROWS_INL_H
#else
#define HEED_SWEEP_STORE_ROWS_INL_H
#endif

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elements-inl.h"
#include "kernels/sweep/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// `columns` numbers of one row at `offset` of `to`, times `factor`; with `rest`, what rounding took
/// from them instead, 0 where it is not finite. The memory of `from` goes on to a whole vector, and
/// the last elements take the same instructions as the others, so that a NaN has the same bits
/// wherever it stands.
inline void store_line(const Output& to, std::int64_t offset, std::int64_t columns,
                       const float* from, float factor, bool rest) {
  cpu::HWY_NAMESPACE::with_type(to.dtype, [&]<typename To>(To*) HWY_ATTR {
    cpu::HWY_NAMESPACE::write_line(from, factor, columns, to.column, rest,
                                   static_cast<To*>(to.data) + offset);
  });
}
inline void store_line(const Output& to, std::int64_t offset, std::int64_t columns,
                       const double* from, double factor, bool /*rest*/) {
  auto* const data = static_cast<double*>(to.data) + offset;
  for (std::int64_t c = 0; c < columns; ++c) data[c * to.column] = from[c] * factor;
}

/// The output of up to 64 rows: [strip][Dv][lanes of a strip], or [row][whole_lines(Dv)].
template <typename T>
struct TileOut {
  const T* data = nullptr;
  bool by_row = false;
};

/// Rows [first, first + 4) of the lanes as lines of whole_lines(columns).
template <typename T>
void gather_four(const TileOut<T>& from, int first, std::int64_t columns, T* lines) {
  const std::int64_t width = whole_lines(columns);
  const T* column = from.data + first / kStripRows<T> * kStripRows<T> * columns +
                    first % kStripRows<T>;
  std::int64_t x = 0;
  if (kStripRows<T> % 4 == 0)
    for (; x + 4 <= columns; x += 4, column += 4 * kStripRows<T>) {
      const T* const four[4] = {column, column + kStripRows<T>, column + 2 * kStripRows<T>,
                                column + 3 * kStripRows<T>};
      transpose_four(four, 4, T{1}, lines + x, width);
    }
  for (; x < columns; ++x, column += kStripRows<T>)
    for (int r = 0; r < std::min(4, kStripRows<T>); ++r) lines[r * width + x] = column[r];
}

/// Row `lane` times factors[lane] to its place in out, and what rounding took to out_low; `lines` is
/// memory for [4][whole_lines(Dv)].
template <typename T>
void store_out(const AttentionProblem& problem, const AttentionForward& forward, std::int64_t batch,
               const RowSet& rows, const TileOut<T>& from, const T* factors, T* lines) {
  const std::int64_t columns = problem.value_dim;
  const std::int64_t width = whole_lines(columns);
  constexpr int kTogether = kStripRows<T> < 4 ? kStripRows<T> : 4;
  int gathered = -1;
  for (int s = 0; s < rows.segment_count; ++s) {
    const Segment& segment = rows.segments[s];
    const std::int64_t slot = problem.sequences[batch].query_begin + segment.row;
    for (int r = 0; r < segment.count; ++r) {
      const int lane = segment.lane + r;
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
