// The softmax of 64 rows, one a lane, over keys that come in tiles (Milakov & Gimelshein 2018,
// algorithm 3). Included once for each vector width.
#if defined(HEED_ONLINE_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_ONLINE_SOFTMAX_INL_H_
#undef HEED_ONLINE_SOFTMAX_INL_H_
#else
#define HEED_ONLINE_SOFTMAX_INL_H_
#endif

#include "kernels/tiled/scores-inl.h"
#include "kernels/tiled/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
struct OnlineSoftmax {
  alignas(64) T maximum[kRows];  // of the scores so far
  alignas(64) T rescale[kRows];  // what earlier sums and outputs are worth after `update`
  alignas(64) double sum[kRows];
  std::uint64_t seen = 0;  // rows that had a visible key

  void start() {
    std::fill(maximum, maximum + kRows, -std::numeric_limits<T>::infinity());
    std::fill(sum, sum + kRows, 0.0);
    seen = 0;
  }

  // A tile of scores [keys][64] becomes weights against the new maximum. Hidden scores are -inf.
  // Returns whether a maximum moved, so that outputs must be multiplied by `rescale`.
  bool update(T* tile, std::int64_t keys, const TileMask<T>& mask) {
    for (std::int64_t j = 0; j < keys; ++j) seen |= mask.partial() ? mask.visible[j] : ~0ULL;
    const hn::ScalableTag<T> tag;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    bool moved = false;
    for (std::int64_t i = 0; i < kRows; i += lanes) moved |= update_lanes(tag, tile + i, keys, i);
    return moved;
  }

  // The log-sum-exp as a sum of two T, and 1 / sum. A row that saw no key has the lse of the sink
  // (-inf without one) and divides by nothing; one that saw only -inf and has no sink is NaN, as
  // IEEE gives. `sink` in natural units.
  void finish(std::int64_t row, double sink, T& lse, T& lse_low, T& inverse) const {
    LogSum exact = {static_cast<double>(maximum[row]), std::log(sum[row])};
    inverse = static_cast<T>(1 / sum[row]);
    if ((seen >> row & 1) == 0) {
      exact = {sink, 0};
      inverse = 0;
    } else if (sink != -std::numeric_limits<double>::infinity()) {
      finish_with_sink(row, sink, exact, inverse);
    } else if (exact.high == -std::numeric_limits<double>::infinity()) {
      exact.high = std::numeric_limits<double>::quiet_NaN();
    }
    exact.store(lse, lse_low);
  }

 private:
  // One more term in the sum, which has no value beside it.
  void finish_with_sink(std::int64_t row, double sink, LogSum& exact, T& inverse) const {
    const double top = exact.high;
    const double reference = std::isnan(sum[row]) || top > sink ? top : sink;
    const double own = std::exp(top - reference);
    const double total = sum[row] * own + std::exp(sink - reference);
    exact = {reference, std::log(total)};
    inverse = static_cast<T>(own / total);
  }

  template <class Tag>
  HWY_INLINE bool update_lanes(Tag tag, T* tile, std::int64_t keys, std::int64_t lane) {
    const auto lowest = hn::Set(tag, -std::numeric_limits<T>::infinity());
    const auto old = hn::Load(tag, maximum + lane);
    auto top = old;
    for (std::int64_t j = 0; j < keys; ++j) top = hn::Max(top, hn::Load(tag, tile + j * kRows));
    // Nothing but -inf so far: any finite reference makes the weights 0.
    const auto reference = hn::IfThenZeroElse(hn::Eq(top, lowest), top);
    auto total = hn::Zero(tag);
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto weight = exp(tag, hn::Sub(hn::Load(tag, tile + j * kRows), reference));
      hn::Store(weight, tag, tile + j * kRows);
      total = hn::Add(total, weight);
    }
    hn::Store(top, tag, maximum + lane);
    hn::Store(exp(tag, hn::Sub(old, reference)), tag, rescale + lane);
    alignas(64) T totals[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(total, tag, totals);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(hn::Lanes(tag)); ++i)
      sum[lane + i] =
          sum[lane + i] * static_cast<double>(rescale[lane + i]) + static_cast<double>(totals[i]);
    return !hn::AllTrue(tag, hn::Eq(top, old));
  }
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_ONLINE_SOFTMAX_INL_H_
