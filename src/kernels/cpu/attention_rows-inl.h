// The query rows of a task: brought in transposed, sent out normalised. Included once a target.
#if defined(HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H
#undef HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H
#else
#define HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Four rows of Q times `scale` to four lanes of `to`, 4 x 4 at a time.
inline void transpose_four(const float* const rows[4], std::int64_t head_dim, float scale,
                           float* to) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto factor = hn::Set(d, scale);
  for (std::int64_t x = 0; x + 4 <= head_dim; x += 4, to += 4 * kTileRows) {
    const auto a = hn::LoadU(d, rows[0] + x), b = hn::LoadU(d, rows[1] + x);
    const auto c = hn::LoadU(d, rows[2] + x), e = hn::LoadU(d, rows[3] + x);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    const auto put = [&](auto column, int at) HWY_ATTR {
      hn::Store(hn::Mul(hn::BitCast(d, column), factor), d, to + at * kTileRows);
    };
    put(hn::InterleaveLower(pairs, ab_low, ce_low), 0);
    put(hn::InterleaveUpper(pairs, ab_low, ce_low), 1);
    put(hn::InterleaveLower(pairs, ab_high, ce_high), 2);
    put(hn::InterleaveUpper(pairs, ab_high, ce_high), 3);
  }
}

/// The rows of one segment; lanes past them keep what is there. `copy` is memory for 64 rows.
inline void read_segment(const AttentionProblem& problem, const RowBlock& block,
                         const Segment& segment, float* copy, float* queries) {
  const std::int64_t slot = problem.sequences[block.batch].query_begin + segment.row;
  Input q = rows_at(problem.q, block.batch, segment.head, slot);
  if (q.dtype != DType::kF32) {
    copy_tile(q, segment.count, problem.head_dim, problem.head_dim, copy);
    q = {.data = copy, .row = problem.head_dim};
  }
  const auto* first = static_cast<const float*>(q.data);
  const auto scale = static_cast<float>(problem.scale[segment.head]);
  int i = 0;
  std::int64_t done = 0;
  if (q.column == 1 && segment.lane % 4 == 0) {
    done = problem.head_dim / 4 * 4;
    for (; i + 4 <= segment.count; i += 4) {
      const float* const rows[4] = {first + i * q.row, first + (i + 1) * q.row,
                                    first + (i + 2) * q.row, first + (i + 3) * q.row};
      transpose_four(rows, problem.head_dim, scale, queries + segment.lane + i);
    }
  }
  for (int r = 0; r < segment.count; ++r)
    for (std::int64_t x = r < i ? done : 0; x < problem.head_dim; ++x)
      queries[x * kTileRows + segment.lane + r] = first[r * q.row + x * q.column] * scale;
}

inline void begin_rows(const AttentionProblem& problem, const RowBlock& block, std::int64_t row,
                       float* copy, RowTile& tile) {
  set_segments(problem, block, row, tile);
  tile.seen = 0;
  tile.started = false;
  const Lanes d;
  if (const int last = tile.rows % kLanes; last != 0)  // the lanes of whole vectors are read
    for (std::int64_t x = 0; x < problem.head_dim; ++x)
      hn::Store(hn::Zero(d), d, tile.queries + x * kTileRows + tile.rows - last);
  std::fill_n(tile.maximum, kTileRows, -std::numeric_limits<float>::infinity());
  std::fill_n(tile.sum, kTileRows, 0.0f);
  std::fill_n(tile.sum_low, kTileRows, 0.0f);
  for (int s = 0; s < tile.segment_count; ++s)
    read_segment(problem, block, tile.segments[s], copy, tile.queries);
}

/// lse = maximum + ln(sum), in double, to `high` + `low` as LogSum does.
inline void log_sum_exp(const RowTile& tile, float* high, float* low) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  for (int lane = 0; lane < tile.rows; lane += static_cast<int>(hn::Lanes(wide))) {
    const auto sum = hn::Add(hn::PromoteTo(wide, hn::Load(narrow, tile.sum + lane)),
                             hn::PromoteTo(wide, hn::Load(narrow, tile.sum_low + lane)));
    const auto maximum = hn::PromoteTo(wide, hn::Load(narrow, tile.maximum + lane));
    const auto log_sum = hn::Log(wide, sum);
    const auto rounded = hn::DemoteTo(narrow, hn::Add(maximum, log_sum));
    hn::Store(rounded, narrow, high + lane);
    const auto rest = hn::Add(hn::Sub(maximum, hn::PromoteTo(wide, rounded)), log_sum);
    hn::Store(hn::DemoteTo(narrow, rest), narrow, low + lane);
  }
}

inline void finish_rows(const AttentionProblem& problem, const AttentionForward& forward,
                        std::int64_t batch, std::int64_t value_stride, RowTile& tile) {
  alignas(64) float high[kTileRows], low[kTileRows];
  log_sum_exp(tile, high, low);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (int s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = tile.segments[s];
    const std::int64_t first = lse_index(problem, batch, segment.head, segment.row);
    const std::int64_t slot = problem.sequences[batch].query_begin + segment.row;
    const Output out = rows_at(forward.out, batch, segment.head, slot);
    for (int r = 0; r < segment.count; ++r) {
      const int lane = segment.lane + r;
      const float sum = tile.sum[lane] + tile.sum_low[lane];
      float factor = 1 / sum;
      // Nothing visible: empty; only scores of -inf: NaN, as IEEE has it.
      if (sum == 0) {
        const bool seen = ((tile.seen >> lane) & 1) != 0;
        factor = seen ? kNan : 0.0f;
        high[lane] = seen ? kNan : -std::numeric_limits<float>::infinity();
        low[lane] = 0;
      }
      if (std::isnan(sum)) {  // a logarithm by bits would lose it
        high[lane] = kNan;
        low[lane] = 0;
      }
      static_cast<float*>(forward.lse)[first + r] = high[lane];
      static_cast<float*>(forward.lse_low)[first + r] = low[lane];
      if (!tile.started) std::fill_n(tile.out + lane * value_stride, value_stride, 0.0f);
      write_row(tile.out + lane * value_stride, factor, problem.value_dim, r, out);
      if (forward.out_low.data != nullptr)
        write_row(tile.out + lane * value_stride, factor, problem.value_dim, r,
                  rows_at(forward.out_low, batch, segment.head, slot), true);
    }
  }
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
