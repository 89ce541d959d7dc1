// AdamW in f32. Bound by memory: four arrays read and three written, about 28 bytes per element;
// they hide the square root and the division.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/adamw.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/adamw.h"

#include <algorithm>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Elements past the last whole vector go through a padded vector, so that an element's value does
// not depend on its place.
constexpr std::int64_t kMostLanes = HWY_MAX_BYTES / sizeof(float);

template <typename D>
class Step {
 public:
  using Vector = hn::Vec<D>;

  explicit Step(const AdamWUpdate<float>& update)
      : scale_(hn::Set(D(), update.gradient_scale)),
        keep_(hn::Set(D(), update.keep)),
        beta1_(hn::Set(D(), update.beta1)),
        one_less_beta1_(hn::Set(D(), 1 - update.beta1)),
        beta2_(hn::Set(D(), update.beta2)),
        one_less_beta2_(hn::Set(D(), 1 - update.beta2)),
        rate_(hn::Set(D(), update.rate)),
        second_scale_(hn::Set(D(), update.second_scale)),
        epsilon_(hn::Set(D(), update.epsilon)) {}

  HWY_INLINE void at(float* value, const float* gradient, float* first, float* second) const {
    const D d;
    const Vector g = hn::Mul(hn::LoadU(d, gradient), scale_);
    const Vector m = hn::MulAdd(beta1_, hn::LoadU(d, first), hn::Mul(one_less_beta1_, g));
    const Vector v =
        hn::MulAdd(beta2_, hn::LoadU(d, second), hn::Mul(one_less_beta2_, hn::Mul(g, g)));
    const Vector size = hn::MulAdd(hn::Sqrt(v), second_scale_, epsilon_);
    const Vector kept = hn::Mul(hn::LoadU(d, value), keep_);
    hn::StoreU(m, d, first);
    hn::StoreU(v, d, second);
    hn::StoreU(hn::NegMulAdd(rate_, hn::Div(m, size), kept), d, value);
  }

 private:
  Vector scale_, keep_, beta1_, one_less_beta1_, beta2_, one_less_beta2_, rate_, second_scale_,
      epsilon_;
};

void adamw_lanes(const AdamWPiece<float>& p, const AdamWUpdate<float>& update) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const Step<D> step(update);
  std::int64_t i = 0;
  for (; i + lanes <= p.count; i += lanes)
    step.at(p.value + i, p.gradient + i, p.first + i, p.second + i);
  const std::int64_t rest = p.count - i;
  if (rest == 0) return;
  float value[kMostLanes] = {}, gradient[kMostLanes] = {};
  float first[kMostLanes] = {}, second[kMostLanes] = {};
  std::copy_n(p.value + i, rest, value);
  std::copy_n(p.gradient + i, rest, gradient);
  std::copy_n(p.first + i, rest, first);
  std::copy_n(p.second + i, rest, second);
  step.at(value, gradient, first, second);
  std::copy_n(value, rest, p.value + i);
  std::copy_n(first, rest, p.first + i);
  std::copy_n(second, rest, p.second + i);
}

double sum_of_squares_lanes(const float* values, std::int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);  // two chains: an addition takes four cycles
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(narrow, values + i));
    const auto b = hn::PromoteTo(d, hn::LoadU(narrow, values + i + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(adamw_lanes);
HWY_EXPORT(sum_of_squares_lanes);

void adamw(const AdamWPiece<float>& piece, const AdamWUpdate<float>& update) {
  HWY_DYNAMIC_DISPATCH(adamw_lanes)(piece, update);
}

double sum_of_squares(const float* values, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_lanes)(values, count);
}

}  // namespace heed::kernels
#endif
