#include "nn/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/philox.h"
#include "heed/generate.h"
#include "heed/operators.h"
#include "heed/threads.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr double kLeastLength = 1e-6;  // added to the square of a key's length
constexpr std::int64_t kChannelsOfTask = 64;

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

// Adds the gradient of x of `with_length`.
void add_length_gradient(const float* x, const std::vector<double>& dy, double length,
                         float* into) {
  double squares = kLeastLength, along = 0;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    along += static_cast<double>(x[i]) * dy[i];
  }
  const double factor = length / std::sqrt(squares);
  for (std::size_t i = 0; i < dy.size(); ++i)
    into[i] += static_cast<float>(factor * (dy[i] - x[i] * along / squares));
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

Tensor DeltaRule::kernel_by_token() const {
  return Tensor::copy_of(kernel_->value.view().permute({2, 1, 0}));
}

Tensor DeltaRule::convolved(const Tensor& qkv, const std::vector<std::int64_t>& counts,
                            State& state) const {
  const std::int64_t length = qkv.dim(1), channels = shape_.channels(), before = shape_.kernel - 1;
  const Tensor kernel = kernel_by_token();
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
        const float* const weight = kernel.data<float>() + i * channels;
        for (std::int64_t c = 0; c < channels; ++c) sum[c] += weight[c] * x[c];
      }
    }
    // In ascending order, so that a slot is read before it is overwritten.
    for (std::int64_t i = 0; i < before && count > 0; ++i)
      std::copy_n(input(count - before + i), channels, kept + i * channels);
  });
  return sums;
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

DeltaRule::Recurrence DeltaRule::recurrence(const Tensor& qkv, const Steps& steps,
                                            const ConstView& memory) const {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), H = shape_.heads, Dv = shape_.value_dim;
  const ConstView v = qkv.view().slice(2, 2 * shape_.keys(), shape_.channels());
  Recurrence made = {
      .q = of_length(qkv, 0, query_length()), .k = of_length(qkv, shape_.keys(), 1), .args = {}};
  made.args = {.q = made.q,
               .k = made.k,
               .v = ConstView(v.raw(), v.dtype(), {B, H, T, Dv}, {v.stride(0), Dv, v.stride(1), 1}),
               .state = memory,
               .decay = steps.decay,
               .beta = steps.rate,
               .rule = UpdateRule::kGatedDelta};
  return made;
}

Tensor DeltaRule::recurred(const Tensor& qkv, const Steps& steps, State& state) const {
  LinearAttended made = linear_attention(recurrence(qkv, steps, state.memory).args);
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
  const std::vector<std::int64_t> counts = run.row_lengths(x.dim(0), x.dim(1));
  const Linear* const inputs[] = {&qkv_, &gate_, &rate_, &decay_};
  const std::vector<Tensor> made = Linear::forward_each(inputs, x, run);
  State state = state_before(run, x.dim(0));
  const Tensor sums = convolved(made[0], counts, state);
  const Tensor outputs =
      recurred(activate(sums, shape_.activation), steps(made[2], made[3], counts), state);
  if (run.saved != nullptr) {
    for (const Tensor& tensor : made) run.saved->put(tensor.share());
    run.saved->put(sums.share());
    run.saved->put(outputs.share());
  }
  if (run.cache != nullptr) {
    std::vector<Tensor> kept;
    kept.push_back(std::move(state.inputs));
    kept.push_back(std::move(state.memory));
    run.cache->put_state(layer_, std::move(kept), counts);
  }
  return out_.forward(normed(outputs, made[1]), run);
}

void DeltaRule::of_length_backward(const Tensor& qkv, std::int64_t first, double length,
                                   const Tensor& drows, Tensor& dqkv) const {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), H = shape_.heads, Dk = shape_.key_dim;
  const std::int64_t shared = H / shape_.key_heads;
  parallel_for(B * shape_.key_heads, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t b = index / shape_.key_heads, group = index % shape_.key_heads;
    std::vector<double> dy(static_cast<std::size_t>(Dk));
    for (std::int64_t t = 0; t < T; ++t) {
      std::ranges::fill(dy, 0);
      for (std::int64_t head = group * shared; head < (group + 1) * shared; ++head) {
        const float* const row = drows.data<float>() + ((b * H + head) * T + t) * Dk;
        for (std::int64_t i = 0; i < Dk; ++i) dy[static_cast<std::size_t>(i)] += row[i];
      }
      const std::int64_t at = (b * T + t) * shape_.channels() + first + group * Dk;
      add_length_gradient(qkv.data<float>() + at, dy, length, dqkv.data<float>() + at);
    }
  });
}

DeltaRule::RecurredGradients DeltaRule::recurred_backward(const Tensor& qkv, const Steps& steps,
                                                          const Tensor& doutputs) const {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), channels = shape_.channels();
  LinearAttentionGrads d = linear_attention_backward(recurrence(qkv, steps, {}).args,
                                                     doutputs.view().permute({0, 2, 1, 3}));
  Tensor dqkv = Tensor::zeros(qkv.shape(), DType::kF32);
  copy_elements(
      Tensor::copy_of(d.dv.view().permute({0, 2, 1, 3})).view().reshape({B, T, shape_.values()}),
      View(dqkv).slice(2, 2 * shape_.keys(), channels));
  of_length_backward(qkv, 0, query_length(), d.dq, dqkv);
  of_length_backward(qkv, shape_.keys(), 1, d.dk, dqkv);
  return {.qkv = std::move(dqkv),
          .steps = {.rate = std::move(d.dbeta), .decay = std::move(d.ddecay)}};
}

Tensor DeltaRule::convolved_backward(const Tensor& qkv, const std::vector<std::int64_t>& counts,
                                     const Tensor& dsums, Gradients& gradients) const {
  const std::int64_t length = qkv.dim(1), channels = shape_.channels(), kernel = shape_.kernel;
  Tensor dqkv = Tensor::zeros(qkv.shape(), DType::kF32);
  const Tensor weights = kernel_by_token();
  Tensor dweights = Tensor::zeros(weights.shape(), DType::kF32);
  // Each channel's sum has one thread, which goes through the texts in order.
  parallel_for((channels + kChannelsOfTask - 1) / kChannelsOfTask, [&](std::int64_t task, int) {
    const std::int64_t begin = task * kChannelsOfTask;
    const std::int64_t end = std::min(begin + kChannelsOfTask, channels);
    for (std::int64_t b = 0; b < qkv.dim(0); ++b)
      for (std::int64_t t = 0; t < counts[static_cast<std::size_t>(b)]; ++t)
        for (std::int64_t i = std::max<std::int64_t>(0, kernel - 1 - t); i < kernel; ++i) {
          const std::int64_t from = (b * length + t - (kernel - 1) + i) * channels;
          const float* const dsum = dsums.data<float>() + (b * length + t) * channels;
          const float* const weight = weights.data<float>() + i * channels;
          float* const dweight = dweights.data<float>() + i * channels;
          const float* const x = qkv.data<float>() + from;
          float* const dx = dqkv.data<float>() + from;
          for (std::int64_t c = begin; c < end; ++c) dweight[c] += dsum[c] * x[c];
          for (std::int64_t c = begin; c < end; ++c) dx[c] += dsum[c] * weight[c];
        }
  });
  add_to(gradients.of(*kernel_), Tensor::copy_of(dweights.view().permute({2, 1, 0})));
  return dqkv;
}

std::pair<Tensor, Tensor> DeltaRule::steps_backward(const Tensor& rate, const Tensor& decay,
                                                    const std::vector<std::int64_t>& counts,
                                                    const Steps& dsteps,
                                                    Gradients& gradients) const {
  const std::int64_t B = rate.dim(0), T = rate.dim(1), H = shape_.heads;
  Tensor drate = Tensor::zeros(rate.shape(), DType::kF32);
  Tensor ddecay = Tensor::zeros(decay.shape(), DType::kF32);
  float* const dlog = gradients.of(*decay_log_).data<float>();
  float* const dbias = gradients.of(*decay_bias_).data<float>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t head = 0; head < H; ++head) {
      const double speed = std::exp(static_cast<double>(decay_log_->value.data<float>()[head]));
      const double bias = decay_bias_->value.data<float>()[head];
      for (std::int64_t t = 0; t < counts[static_cast<std::size_t>(b)]; ++t) {
        const std::int64_t to = (b * T + t) * H + head, from = (b * H + head) * T + t;
        const double share = sigmoid(rate.data<float>()[to]);
        drate.data<float>()[to] =
            static_cast<float>(dsteps.rate.data<float>()[from] * share * (1 - share));
        const double x = decay.data<float>()[to] + bias;
        const double dlog_a = dsteps.decay.data<float>()[from];
        const double dx = -speed * sigmoid(x) * dlog_a;
        ddecay.data<float>()[to] = static_cast<float>(dx);
        dbias[head] += static_cast<float>(dx);
        dlog[head] += static_cast<float>(-speed * softplus(x) * dlog_a);
      }
    }
  return {std::move(drate), std::move(ddecay)};
}

Tensor DeltaRule::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  Tensor dnormed = out_.backward(dy, run, gradients);
  const Tensor outputs = run.saved->take(), sums = run.saved->take();
  const Tensor decay = run.saved->take(), rate = run.saved->take();
  const Tensor gate = run.saved->take(), projected = run.saved->take();
  const RmsNormArgs norm = {.x = outputs, .weight = norm_->value, .epsilon = shape_.epsilon};
  Tensor dgate = dnormed.clone();
  multiply_by(dgate, rms_norm(norm).reshaped(gate.shape()));
  multiply_by(dnormed, activate_backward(gate, Activation::kSilu, dgate));
  const Tensor doutputs =
      rms_norm_backward(norm, std::move(dnormed).reshaped(outputs.shape()), gradients.of(*norm_));
  const std::vector<std::int64_t> counts = run.row_lengths(dy.dim(0), dy.dim(1));
  RecurredGradients d =
      recurred_backward(activate(sums, shape_.activation), steps(rate, decay, counts), doutputs);
  activate_backward(sums, shape_.activation, d.qkv);
  const auto [drate, ddecay] = steps_backward(rate, decay, counts, d.steps, gradients);
  Tensor dx = decay_.backward(ddecay, run, gradients);
  dx = add(std::move(dx), rate_.backward(drate, run, gradients));
  dx = add(std::move(dx), gate_.backward(dgate, run, gradients));
  const Tensor dqkv = convolved_backward(projected, counts, d.qkv, gradients);
  return add(std::move(dx), qkv_.backward(dqkv, run, gradients));
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
