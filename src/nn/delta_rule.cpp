#include "nn/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/philox.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "heed/operators.h"
#include "heed/threads.h"

namespace heed {
namespace {

constexpr double kLeastLength = 1e-6;  // added to the square of a key's length

std::shared_ptr<Parameter> numbers(std::string name, const Shape& shape) {
  auto parameter = std::make_shared<Parameter>();
  parameter->name = std::move(name);
  parameter->value = Tensor::empty(shape);
  parameter->decays = false;
  return parameter;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// ln(1 + e^x); beyond 20 the difference from x is less than half an f32 step.
double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// into = x * length / |x|.
void with_length(const float* x, std::int64_t width, double length, float* into) {
  double squares = kLeastLength;
  for (std::int64_t i = 0; i < width; ++i)
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto factor = static_cast<float>(length / std::sqrt(squares));
  for (std::int64_t i = 0; i < width; ++i) into[i] = x[i] * factor;
}

}  // namespace

DeltaRule::DeltaRule(const std::string& block, const DeltaRuleNames& names, std::int64_t width,
                     const DeltaRuleShape& shape, int layer)
    : shape_(shape),
      layer_(layer),
      qkv_(block + names.qkv, {.in = width, .out = shape.channels(), .bias = false}),
      gate_(block + names.gate, {.in = width, .out = shape.values(), .bias = false}),
      rate_(block + names.rate, {.in = width, .out = shape.heads, .bias = false}),
      decay_(block + names.decay, {.in = width, .out = shape.heads, .bias = false}),
      out_(block + names.out, {.in = shape.values(), .out = width, .bias = false}),
      kernel_(numbers(block + names.kernel, {shape.channels(), 1, shape.kernel})),
      decay_log_(numbers(block + names.decay_log, {shape.heads})),
      decay_bias_(numbers(block + names.decay_bias, {shape.heads})),
      norm_(numbers(block + names.norm, {shape.value_dim})) {}

DeltaRule::State DeltaRule::state_before(const Run& run, std::int64_t batch) const {
  if (run.cache != nullptr)
    if (const std::vector<Tensor>& kept = run.cache->state(layer_); !kept.empty())
      return {kept[0].clone(), kept[1].clone()};
  return {Tensor::zeros({batch, shape_.kernel - 1, shape_.channels()}, DType::kF32),
          Tensor::zeros({batch, shape_.heads, shape_.key_dim, shape_.value_dim}, DType::kF32)};
}

Tensor DeltaRule::convolved(const Tensor& qkv, const std::vector<std::int64_t>& counts,
                            State& state) const {
  const std::int64_t length = qkv.dim(1), channels = shape_.channels(), before = shape_.kernel - 1;
  Tensor sums = Tensor::zeros(qkv.shape(), DType::kF32);
  parallel_for(qkv.dim(0), [&](std::int64_t b, int /*thread*/) {
    const std::int64_t count = counts[static_cast<std::size_t>(b)];
    float* const kept = state.inputs.data<float>() + b * before * channels;
    // The input at token t of this pass, or of an earlier one (t < 0).
    const auto input = [&](std::int64_t t) -> const float* {
      return t < 0 ? kept + (before + t) * channels
                   : qkv.data<float>() + (b * length + t) * channels;
    };
    for (std::int64_t t = 0; t < count; ++t) {
      float* const sum = sums.data<float>() + (b * length + t) * channels;
      for (std::int64_t i = 0; i < shape_.kernel; ++i) {
        const float* const x = input(t - before + i);
        const float* const weight = kernel_->value.data<float>() + i;
        for (std::int64_t c = 0; c < channels; ++c) sum[c] += weight[c * shape_.kernel] * x[c];
      }
    }
    // In ascending order, so that a slot is read before it is overwritten.
    for (std::int64_t i = 0; i < before && count > 0; ++i)
      std::copy_n(input(count - before + i), channels, kept + i * channels);
  });
  return activate(sums, shape_.activation);
}

Tensor DeltaRule::of_length(const Tensor& qkv, std::int64_t first, double length) const {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), H = shape_.heads, Dk = shape_.key_dim;
  Tensor rows = Tensor::empty({B, H, T, Dk}, DType::kF32);
  parallel_for(B * H, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t head = index % H / (H / shape_.key_heads);
    for (std::int64_t t = 0; t < T; ++t) {
      const float* const from =
          qkv.data<float>() + (index / H * T + t) * shape_.channels() + first + head * Dk;
      with_length(from, Dk, length, rows.data<float>() + (index * T + t) * Dk);
    }
  });
  return rows;
}

DeltaRule::Steps DeltaRule::steps(const Tensor& rate, const Tensor& decay,
                                  const std::vector<std::int64_t>& counts) const {
  const std::int64_t B = rate.dim(0), T = rate.dim(1), H = shape_.heads;
  // Padding changes no state: its rate is 0, and its decay e^0.
  Steps steps{.rate = Tensor::zeros({B, H, T}, DType::kF32),
              .decay = Tensor::zeros({B, H, T, 1}, DType::kF32)};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t head = 0; head < H; ++head) {
      const double speed = std::exp(static_cast<double>(decay_log_->value.data<float>()[head]));
      const double bias = decay_bias_->value.data<float>()[head];
      for (std::int64_t t = 0; t < counts[static_cast<std::size_t>(b)]; ++t) {
        const std::int64_t from = (b * T + t) * H + head, to = (b * H + head) * T + t;
        steps.rate.data<float>()[to] = static_cast<float>(sigmoid(rate.data<float>()[from]));
        steps.decay.data<float>()[to] =
            static_cast<float>(-speed * softplus(decay.data<float>()[from] + bias));
      }
    }
  return steps;
}

Tensor DeltaRule::recurred(const Tensor& qkv, const Steps& steps, State& state) const {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), H = shape_.heads, Dv = shape_.value_dim;
  const Tensor q = of_length(qkv, 0, 1 / std::sqrt(static_cast<double>(shape_.key_dim)));
  const Tensor k = of_length(qkv, shape_.keys(), 1);
  const ConstView v = qkv.view().slice(2, 2 * shape_.keys(), shape_.channels());
  LinearAttended made = linear_attention(
      {.q = q,
       .k = k,
       .v = ConstView(v.raw(), v.dtype(), {B, H, T, Dv}, {v.stride(0), Dv, v.stride(1), 1}),
       .state = state.memory,
       .decay = steps.decay,
       .beta = steps.rate,
       .rule = UpdateRule::kGatedDelta});
  state.memory = std::move(made.state);
  return Tensor::copy_of(made.out.view().permute({0, 2, 1, 3}));
}

Tensor DeltaRule::normed(const Tensor& outputs, const Tensor& gate) const {
  Tensor y = rms_norm({.x = outputs, .weight = norm_->value, .epsilon = shape_.epsilon})
                 .reshaped(gate.shape());
  multiply_by(y, activate(gate, Activation::kSilu));
  return y;
}

Tensor DeltaRule::forward(const Tensor& x, Run& run) const {
  if (run.saved != nullptr)
    fail("delta rule", "run.saved", "given", "none: this layer does not train yet",
         ErrorCode::kUnsupported);
  const std::vector<std::int64_t> counts = run.row_lengths(x.dim(0), x.dim(1));
  const Linear* const inputs[] = {&qkv_, &gate_, &rate_, &decay_};
  const std::vector<Tensor> made = Linear::forward_each(inputs, x, run);
  State state = state_before(run, x.dim(0));
  const Tensor qkv = convolved(made[0], counts, state);
  const Tensor outputs = recurred(qkv, steps(made[2], made[3], counts), state);
  if (run.cache != nullptr) {
    std::vector<Tensor> kept;
    kept.push_back(std::move(state.inputs));
    kept.push_back(std::move(state.memory));
    run.cache->put_state(layer_, std::move(kept), counts);
  }
  return out_.forward(normed(outputs, made[1]), run);
}

Tensor DeltaRule::backward(const Tensor& /*dy*/, Run& /*run*/, Gradients& /*gradients*/) const {
  fail("delta rule", "backward", "asked for", "forward alone: this layer does not train yet",
       ErrorCode::kUnsupported);
}

void DeltaRule::initialise(std::uint64_t seed) const {
  Random random(seed, static_cast<std::uint32_t>(layer_));
  const auto fill = [](Parameter& parameter, auto&& number) {
    float* const values = parameter.value.data<float>();
    std::generate_n(values, parameter.element_count(),
                    [&] { return static_cast<float>(number()); });
  };
  fill(*kernel_, [&] { return random.normal() / std::sqrt(static_cast<double>(shape_.kernel)); });
  fill(*decay_log_, [&] { return std::log(0.01 + 15.99 * random.uniform()); });
  fill(*decay_bias_, [] { return 1; });
  fill(*norm_, [] { return 1; });
}

void DeltaRule::collect(std::vector<Parameter*>& into) {
  for (Linear* linear : {&qkv_, &gate_, &rate_, &decay_}) linear->collect(into);
  for (const auto& parameter : {kernel_, decay_log_, decay_bias_, norm_})
    into.push_back(parameter.get());
  out_.collect(into);
}

}  // namespace heed
