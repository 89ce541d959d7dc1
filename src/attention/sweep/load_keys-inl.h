// Rows of any type as f32 or f64, and tiles of keys in any form. Included once for each vector
// width.
#if defined(HEED_SWEEP_LOAD_KEYS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_LOAD_KEYS_INL_H
#undef HEED_SWEEP_LOAD_KEYS_INL_H
#else
#define HEED_SWEEP_LOAD_KEYS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "attention/key_run.h"
#include "heed/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

// A vector of f32, f16 or bf16 as f32.
template <typename From>
HWY_INLINE hn::Vec<FloatTag> load_lanes(const From* from) {
  if constexpr (sizeof(From) == 2 && HWY_TARGET == HWY_SCALAR) {
    return hn::Set(FloatTag(), static_cast<float>(*from));  // Highway's f16 lacks infinity there
  } else if constexpr (sizeof(From) == 2) {
    using Lane = std::conditional_t<std::is_same_v<From, f16>, hwy::float16_t, hwy::bfloat16_t>;
    const hn::Rebind<Lane, FloatTag> narrow;
    return hn::PromoteTo(FloatTag(), hn::LoadU(narrow, reinterpret_cast<const Lane*>(from)));
  } else {
    return hn::LoadU(FloatTag(), from);
  }
}

// A vector of integers as f32.
HWY_INLINE hn::Vec<FloatTag> load_lanes(const std::int8_t* from) {
  const hn::Rebind<std::int8_t, FloatTag> narrow;
  const hn::RebindToSigned<FloatTag> integers;
  return hn::ConvertTo(FloatTag(), hn::PromoteTo(integers, hn::LoadU(narrow, from)));
}

// Converts x to T. A finite double stays finite: a bias of -1e300 hides nothing.
template <typename T, typename From>
T number_as(From x) {
  if constexpr (sizeof(From) == 2) {
    return static_cast<T>(static_cast<float>(x));
  } else if constexpr (sizeof(From) > sizeof(T)) {
    constexpr From kMost = std::numeric_limits<T>::max();
    return static_cast<T>(std::isinf(x) ? x : std::clamp(x, -kMost, kMost));
  } else {
    return static_cast<T>(x);
  }
}

// `count` elements of type From, `step` apart, as T. Uses whole vectors even without conversion: a
// head's row is short, and calling memcpy takes longer than the copy.
template <typename T, typename From>
void convert_line(const From* HWY_RESTRICT from, std::int64_t step, std::int64_t count,
                  T* HWY_RESTRICT to) {
  std::int64_t c = 0;
  if constexpr (sizeof(From) <= sizeof(float) && std::is_same_v<T, float>) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
    for (; step == 1 && c + lanes <= count; c += lanes)
      hn::StoreU(load_lanes(from + c), FloatTag(), to + c);
  }
  if (step == 1) {
    for (; c < count; ++c) to[c] = number_as<T>(from[c]);
  } else {
    for (; c < count; ++c) to[c] = number_as<T>(from[c * step]);
  }
}

template <typename T>
void load_line(const Input& from, std::int64_t offset, std::int64_t step, std::int64_t count,
               T* to) {
  const auto load = [&]<typename From>(const From* data) {
    convert_line<T>(data + offset, step, count, to);
  };
  if (from.dtype == DType::kF32) load(static_cast<const float*>(from.data));
  if (from.dtype == DType::kF64) load(static_cast<const double*>(from.data));
  if (from.dtype == DType::kF16) load(static_cast<const f16*>(from.data));
  if (from.dtype == DType::kBF16) load(static_cast<const bf16*>(from.data));
}

// Integers times the scale of their group, rounded to f32, as T.
template <typename T>
void load_scaled_line(const Input& from, std::int64_t offset, const Input& scales,
                      std::int64_t scale_offset, std::int64_t count, T* to) {
  const auto* integers = static_cast<const std::int8_t*>(from.data) + offset;
  const float* scale = static_cast<const float*>(scales.data) + scale_offset;
  for (std::int64_t begin = 0; begin < count; begin += kElementsPerScale, scale += scales.column) {
    const std::int64_t end = std::min(begin + kElementsPerScale, count);
    std::int64_t c = begin;
    if constexpr (std::is_same_v<T, float>) {
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
      for (; from.column == 1 && c + lanes <= end; c += lanes)
        hn::StoreU(hn::Mul(load_lanes(integers + c), hn::Set(FloatTag(), *scale)), FloatTag(),
                   to + c);
    }
    for (; c < end; ++c)
      to[c] = static_cast<T>(static_cast<float>(integers[c * from.column]) * *scale);
  }
}

// Prefetches a row.
inline void fetch_row(const Input& values, std::int64_t at, std::int64_t columns) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(values.dtype));
  const char* line = static_cast<const char*>(values.data) + at * bytes;
  for (std::int64_t x = 0; x < columns * bytes; x += 64) __builtin_prefetch(line + x, 0, 2);
}

// The run that begins 64 keys after a span, none past the sequence's end: products of a few rows
// would wait for memory. In pages these keys do not lie 64 rows further on.
inline KeyRun run_ahead(const AttentionProblem& problem, KeySpan span) {
  constexpr std::int64_t kAhead = 64;
  span.begin += kAhead;
  span.count = std::min(span.count, problem.sequences[span.batch].key_length - span.begin);
  return span.count > 0 ? first_run(problem, span) : KeyRun{};
}

// A span of keys as T: to[key][column], rows `width` apart, 0 past the columns.
template <typename T>
void load_keys(const AttentionProblem& problem, const KeyOperand& from, KeySpan span,
               std::int64_t width, T* HWY_RESTRICT to) {
  const Input& values = from.values;
  while (span.count > 0) {
    KeyRun run = first_run(problem, span);
    const KeyRun ahead = run_ahead(problem, span);
    if (ahead.count > 0) run.count = std::min(run.count, ahead.count);
    std::int64_t at = run.offset(values, span.kv_head);
    std::int64_t next = ahead.offset(values, span.kv_head);
    std::int64_t scale_at = run.offset(from.scales, span.kv_head);
    for (std::int64_t r = 0; r < run.count; ++r, to += width) {
      if (r < ahead.count) fetch_row(values, next, from.columns);
      if (values.dtype == DType::kI8)
        load_scaled_line(values, at, from.scales, scale_at, from.columns, to);
      else
        load_line(values, at, values.column, from.columns, to);
      std::fill(to + from.columns, to + width, T{0});
      at += values.row;
      next += values.row;
      scale_at += from.scales.row;
    }
    span.begin += run.count;
    span.count -= run.count;
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_SWEEP_LOAD_KEYS_INL_H
