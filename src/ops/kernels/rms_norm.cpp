// The RMS norm in f32. Bound by the caches, like layer norm: a row is read twice from the L1 cache
// and once from its place in memory.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/rms_norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/rms_norm.h"

#include <cmath>

#include "ops/kernels/blocks.h"
#include "simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

float inverse_rms(const float* x, std::int64_t width, double epsilon) {
  FloatVector squares = hn::Zero(Floats());
  for_lanes(width, [&](auto load, auto) HWY_ATTR {
    const auto value = load(x);
    squares = hn::MulAdd(value, value, squares);
  });
  const double mean = sum_of(squares) / static_cast<double>(width);
  return static_cast<float>(1 / std::sqrt(mean + epsilon));
}

void rms_norm_rows(const RmsNormProblem<float>& p, std::int64_t begin, std::int64_t end, float* y) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = p.x + row * p.width;
    float* out = y + row * p.width;
    const auto inverse = hn::Set(Floats(), inverse_rms(x, p.width, p.epsilon));
    for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
      store(hn::Mul(hn::Mul(load(x), inverse), load(p.weight)), out);
    });
  }
}

// dweight here is that of this block of rows only.
void rms_grad_rows(const RmsNormProblem<float>& p, const RmsNormBackward<float>& grads,
                   std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = p.x + row * p.width;
    const float* dy = grads.dy + row * p.width;
    float* dx = grads.dx + row * p.width;
    const auto inverse = hn::Set(Floats(), inverse_rms(x, p.width, p.epsilon));
    auto sum_gn = hn::Zero(Floats());
    for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
      const auto n = hn::Mul(load(x), inverse);
      const auto dy_n = hn::Mul(load(dy), n);
      sum_gn = hn::MulAdd(dy_n, load(p.weight), sum_gn);
      store(hn::Add(load(grads.dweight), dy_n), grads.dweight);
    });
    const auto mean_gn = hn::Set(Floats(), sum_of(sum_gn) / static_cast<float>(p.width));
    for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
      const auto n = hn::Mul(load(x), inverse);
      const auto g = hn::Mul(load(dy), load(p.weight));
      store(hn::Mul(hn::NegMulAdd(n, mean_gn, g), inverse), dx);
    });
  }
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(rms_grad_rows);

}  // namespace

void cpu::rms_norm(const RmsNormProblem<float>& problem, float* y) {
  in_blocks(problem.rows, rows_of_block(problem.width), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(rms_norm_rows)(problem, begin, end, y);
  });
}

void cpu::rms_norm_backward(const RmsNormProblem<float>& problem,
                            const RmsNormBackward<float>& grads) {
  sum_in_blocks(
      problem.rows, problem.width,
      [&](std::int64_t begin, std::int64_t end, float* dweight) {
        RmsNormBackward<float> own = grads;
        own.dweight = dweight;
        HWY_DYNAMIC_DISPATCH(rms_grad_rows)(problem, own, begin, end);
      },
      [&](const float* dweight) {
        for (std::int64_t c = 0; c < problem.width; ++c) grads.dweight[c] += dweight[c];
      });
}

}  // namespace heed::kernels
#endif
