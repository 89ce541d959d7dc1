// Layer normalisation and the RMS norm in f32. Bound by the caches: a row is read three times from
// the L1 cache (twice for the RMS norm) and twice from its place in memory.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/norm.h"

#include <cmath>

#include "ops/kernels/blocks.h"
#include "simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

struct Statistics {
  float mean;
  float inverse;  // 1 / sqrt(variance + epsilon)
};

// The sum of a row by add(sum, values); `past` replaces elements past the last whole vector. Layer
// norm has two chains, because a single one waits four cycles for each addition. The RMS norm has
// one: two change the last bit of its results, and with it texts that models write by chance.
template <bool kTwoChains, typename Add>
HWY_INLINE float sum_of_row(const float* x, std::int64_t width, float past, const Add& add) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  std::int64_t c = 0;
  for (; kTwoChains && c + 2 * lanes <= width; c += 2 * lanes) {
    even = add(even, hn::LoadU(d, x + c));
    odd = add(odd, hn::LoadU(d, x + c + lanes));
  }
  for (; c + lanes <= width; c += lanes) even = add(even, hn::LoadU(d, x + c));
  auto& last = kTwoChains ? odd : even;
  if (c < width) last = add(last, load_part(x + c, width - c, past));
  return sum_of(hn::Add(even, odd));
}

// Two passes, because the variance of differences does not cancel. The RMS norm has mean 0.
template <bool kCentred>
HWY_INLINE Statistics statistics(const NormProblem<float>& p, const float* x) {
  const auto width = static_cast<float>(p.width);
  float mean = 0;
  if constexpr (kCentred)
    mean = sum_of_row<true>(x, p.width, 0, [](auto s, auto v) HWY_ATTR { return hn::Add(s, v); }) /
           width;
  const auto mean_vector = hn::Set(Floats(), mean);
  const float squares =
      sum_of_row<kCentred>(x, p.width, mean, [mean_vector](auto s, auto v) HWY_ATTR {
        const auto difference = hn::Sub(v, mean_vector);
        return hn::MulAdd(difference, difference, s);
      });
  const double variance = squares / static_cast<double>(p.width);
  return {mean, static_cast<float>(1 / std::sqrt(variance + p.epsilon))};
}

template <bool kCentred>
HWY_INLINE void norm_row(const NormProblem<float>& p, std::int64_t row, float* y) {
  const float* x = p.x + row * p.width;
  float* out = y + row * p.width;
  const auto [mean_value, inverse_value] = statistics<kCentred>(p, x);
  const auto mean = hn::Set(Floats(), mean_value);
  const auto inverse = hn::Set(Floats(), inverse_value);
  for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(load(x), mean), inverse);
    if constexpr (kCentred)
      store(hn::MulAdd(normal, load(p.weight), load(p.bias)), out);
    else
      store(hn::Mul(normal, load(p.weight)), out);
  });
}

// dweight and dbias here are those of this row's block only.
template <bool kCentred>
HWY_INLINE void grad_row(const NormProblem<float>& p, const NormBackward<float>& grads,
                         std::int64_t row) {
  const float* x = p.x + row * p.width;
  const float* dy = grads.dy + row * p.width;
  float* dx = grads.dx + row * p.width;
  const auto [mean_value, inverse_value] = statistics<kCentred>(p, x);
  const auto mean = hn::Set(Floats(), mean_value);
  const auto inverse = hn::Set(Floats(), inverse_value);
  auto sum_g = hn::Zero(Floats());
  auto sum_gn = hn::Zero(Floats());
  for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
    const auto n = hn::Mul(hn::Sub(load(x), mean), inverse);
    const auto dy_part = load(dy);
    const auto g = hn::Mul(dy_part, load(p.weight));  // 0 past the end
    sum_gn = hn::MulAdd(g, n, sum_gn);
    store(hn::MulAdd(dy_part, n, load(grads.dweight)), grads.dweight);
    if constexpr (!kCentred) return;
    sum_g = hn::Add(sum_g, g);
    store(hn::Add(dy_part, load(grads.dbias)), grads.dbias);
  });
  const float scale = 1 / static_cast<float>(p.width);
  const auto mean_g = hn::Set(Floats(), sum_of(sum_g) * scale);
  const auto mean_gn = hn::Set(Floats(), sum_of(sum_gn) * scale);
  for_lanes(p.width, [&](auto load, auto store) HWY_ATTR {
    const auto n = hn::Mul(hn::Sub(load(x), mean), inverse);
    const auto g = hn::Sub(hn::Mul(load(dy), load(p.weight)), mean_g);
    store(hn::Mul(hn::NegMulAdd(n, mean_gn, g), inverse), dx);
  });
}

void norm_rows(const NormProblem<float>& p, std::int64_t begin, std::int64_t end, float* y) {
  for (std::int64_t row = begin; row < end; ++row)
    p.bias != nullptr ? norm_row<true>(p, row, y) : norm_row<false>(p, row, y);
}

void grad_rows(const NormProblem<float>& p, const NormBackward<float>& grads, std::int64_t begin,
               std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row)
    p.bias != nullptr ? grad_row<true>(p, grads, row) : grad_row<false>(p, grads, row);
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(norm_rows);
HWY_EXPORT(grad_rows);

}  // namespace

void cpu::norm(const NormProblem<float>& problem, float* y) {
  in_blocks(problem.rows, rows_of_block(problem.width), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)(problem, begin, end, y);
  });
}

void cpu::norm_backward(const NormProblem<float>& problem, const NormBackward<float>& grads) {
  const std::int64_t width = problem.width;
  sum_in_blocks(
      problem.rows, problem.bias != nullptr ? 2 * width : width,
      [&](std::int64_t begin, std::int64_t end, float* sums) {
        NormBackward<float> own = grads;
        own.dweight = sums;
        own.dbias = sums + width;
        HWY_DYNAMIC_DISPATCH(grad_rows)(problem, own, begin, end);
      },
      [&](const float* sums) {
        for (std::int64_t c = 0; c < width; ++c) grads.dweight[c] += sums[c];
        if (problem.bias == nullptr) return;
        for (std::int64_t c = 0; c < width; ++c) grads.dbias[c] += sums[width + c];
      });
}

}  // namespace heed::kernels
#endif
