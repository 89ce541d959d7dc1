// The softmax of rows in f32. Bound by the exponentials: about 9 instructions for a vector of them.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/softmax.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include <algorithm>

#include "ops/kernels/blocks.h"
#include "ops/kernels/rows.h"
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

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(backward_rows);

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

}  // namespace heed::kernels
#endif
