// The softmax and the cross entropy of rows in f32. The softmax is bound by the exponentials: about
// 9 instructions for a vector of them.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/rows.h"

#include <algorithm>
#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "ops/kernels/blocks.h"
#include "simd/exp-inl.h"
#include "simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

// The maximum may lose a NaN, but exp of the difference is NaN anyway, and so is the sum.
HWY_INLINE FloatVector power_of(FloatVector x, FloatVector largest) {
  const auto exponent = hn::Mul(hn::Sub(x, largest), hn::Set(Floats(), kLog2e));
  return cpu::HWY_NAMESPACE::exp2(Floats(), exponent);
}

void softmax_row(const float* x, std::int64_t width, float* y) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  const auto largest = hn::Set(Floats(), largest_of(x, width));
  auto sum = hn::Zero(Floats());
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const auto power = power_of(hn::LoadU(Floats(), x + i), largest);
    sum = hn::Add(sum, power);
    hn::StoreU(power, Floats(), y + i);
  }
  if (i < width) {
    const auto power = power_of(load_part(x + i, width - i, kLowest), largest);
    sum = hn::Add(sum, power);
    store_part(power, width - i, y + i);
  }
  const auto factor = hn::Set(Floats(), 1 / sum_of(sum));
  for_lanes(width, [&](auto load, auto store) HWY_ATTR { store(hn::Mul(load(y), factor), y); });
}

void softmax_rows(const SoftmaxRows<float>& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row)
    softmax_row(p.x + row * p.width, p.width, p.out + row * p.width);
}

void backward_rows(const SoftmaxRows<float>& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* y = p.x + row * p.width;
    const float* dy = p.dy + row * p.width;
    float* dx = p.out + row * p.width;
    auto sum = hn::Zero(Floats());
    for_lanes(p.width, [&](auto load, auto) HWY_ATTR { sum = hn::MulAdd(load(y), load(dy), sum); });
    const auto mean = hn::Set(Floats(), sum_of(sum));
    for_lanes(p.width, [&](auto load, auto store)
                           HWY_ATTR { store(hn::Mul(load(y), hn::Sub(load(dy), mean)), dx); });
  }
}

// Cross entropy in f32: three passes over a row, which fits into the L1 cache for vocabularies up
// to 8,000. The exponentials are written once and scaled in place.

// Highway's exp of NaN is 0, which would hide the NaN.
HWY_INLINE FloatVector exp_of(FloatVector x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(Floats(), x));
}

// The sum of exp(x - largest); the terms are stored in `to` if given.
float exponentials(const float* x, std::int64_t count, float largest, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  const auto shift = hn::Set(Floats(), largest);
  auto sum = hn::Zero(Floats());
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto power = exp_of(hn::Sub(hn::LoadU(Floats(), x + i), shift));
    sum = hn::Add(sum, power);
    if (to != nullptr) hn::StoreU(power, Floats(), to + i);
  }
  if (i < count) {
    const auto power = exp_of(hn::Sub(load_part(x + i, count - i, kLowest), shift));
    sum = hn::Add(sum, power);
    if (to != nullptr) store_part(power, count - i, to + i);
  }
  return sum_of(sum);
}

double sum_of_all(const float* x, std::int64_t count) {
  auto sum = hn::Zero(Floats());
  for_lanes(count, [&](auto load, auto) HWY_ATTR { sum = hn::Add(sum, load(x)); });
  return sum_of(sum);
}

void cross_entropy_rows(const CrossEntropyProblem<float>& p, std::int64_t begin, std::int64_t end) {
  const double spread = p.smoothing / static_cast<double>(p.vocabulary);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* logits = p.logits + row * p.vocabulary;
    float* dlogits = p.dlogits == nullptr ? nullptr : p.dlogits + row * p.vocabulary;
    const std::int32_t target = p.targets[row];
    p.losses[row] = 0;
    if (target < 0) {
      if (dlogits != nullptr) std::fill_n(dlogits, p.vocabulary, 0.0F);
      continue;
    }
    // Read before dlogits may overwrite them.
    const double kept = 1 - p.smoothing;
    double wanted = kept * logits[target];
    if (p.smoothing > 0) wanted += spread * sum_of_all(logits, p.vocabulary);
    const float largest = largest_of(logits, p.vocabulary);
    const float sum = exponentials(logits, p.vocabulary, largest, dlogits);
    p.losses[row] = std::log(static_cast<double>(sum)) + largest - wanted;
    if (dlogits == nullptr) continue;
    const auto factor = hn::Set(Floats(), static_cast<float>(p.scale / sum));
    const auto even = hn::Set(Floats(), static_cast<float>(p.scale * spread));
    for_lanes(p.vocabulary, [&](auto load, auto store) HWY_ATTR {
      store(hn::MulSub(load(dlogits), factor, even), dlogits);
    });
    dlogits[target] -= static_cast<float>(p.scale * kept);
  }
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(backward_rows);
HWY_EXPORT(cross_entropy_rows);

}  // namespace

void cpu::softmax(const SoftmaxRows<float>& problem) {
  in_blocks(problem.rows, rows_of_block(problem.width), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_rows)(problem, begin, end);
  });
}

void cpu::softmax_backward(const SoftmaxRows<float>& problem) {
  in_blocks(problem.rows, rows_of_block(problem.width), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_rows)(problem, begin, end);
  });
}

void cpu::cross_entropy(const CrossEntropyProblem<float>& problem) {
  const std::int64_t block = rows_of_block(problem.vocabulary);
  in_blocks(problem.rows, block, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(problem, begin, end);
  });
}

}  // namespace heed::kernels
#endif
