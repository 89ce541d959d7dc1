#include "ops/kernels/linear_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/numbers.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "heed/threads.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

bool has_decay(UpdateRule rule) {
  return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta;
}
bool is_delta(UpdateRule rule) {
  return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta;
}

void check_operand(const char* what, const ConstView& view, DType dtype) {
  if (!view.given() || view.rank() != 4 || !is_floating(view.dtype()))
    fail("linear_attention", what, to_string(view),
         "[batch, heads, T, D] of f64, f32, f16 or bf16");
  if (view.dtype() != dtype)
    fail("linear_attention", what, name(view.dtype()), fmt::format("{} (q's type)", name(dtype)));
}

void check_shape(const char* what, const ConstView& view, const Shape& wanted) {
  if (view.shape() != wanted)
    fail("linear_attention", fmt::format("{}.shape", what), to_string(view.shape()),
         to_string(wanted));
}

void check_gates(const LinearAttentionArgs& args) {
  const Shape& k = args.k.shape();
  const bool decays = has_decay(args.rule);
  if (args.decay.given() != decays)
    fail("linear_attention", "decay", decays ? "" : "given",
         decays ? "one, as the rule decays" : "none, as the rule does not decay");
  const bool corrects = is_delta(args.rule);
  if (args.beta.given() != corrects)
    fail("linear_attention", "beta", corrects ? "" : "given",
         corrects ? "one, as the rule corrects" : "none, as the rule does not correct");
  if (decays) {
    check_operand("decay", args.decay, args.q.dtype());
    const std::int64_t features = args.features.features(k[3]);
    const std::int64_t width = args.decay.dim(3) == 1 ? 1 : features;
    check_shape("decay", args.decay, {k[0], k[1], k[2], width});
  }
  if (!corrects) return;
  if (args.beta.dtype() != args.q.dtype() || args.beta.rank() != 3)
    fail("linear_attention", "beta", to_string(args.beta),
         fmt::format("{} [B, G, T] or [B, 1, T]", name(args.q.dtype())));
  check_shape("beta", args.beta, {k[0], args.beta.dim(1) == 1 ? 1 : k[1], k[2]});
  if (args.normalised)
    fail("linear_attention", "normalised", "true",
         "false (the weights of a delta rule have no sum)");
}

void check(const LinearAttentionArgs& args) {
  require_enumerator("linear_attention", "rule", args.rule, UpdateRule::kGatedDelta);
  require_enumerator("linear_attention", "features.kind", args.features.kind,
                     FeatureKind::kRandomExponential);
  check_operand("q", args.q, args.q.dtype());
  check_operand("k", args.k, args.q.dtype());
  check_operand("v", args.v, args.q.dtype());
  const Shape& q = args.q.shape();
  const Shape& k = args.k.shape();
  check_shape("k", args.k, {q[0], k[1], k[2], q[3]});
  check_shape("v", args.v, {q[0], k[1], k[2], args.v.dim(3)});
  if (q[1] != 0 && (k[1] <= 0 || q[1] % k[1] != 0))
    fail("linear_attention", "q.shape[1]", q[1], fmt::format("a multiple of {} (k's heads)", k[1]));
  if (args.causal && q[2] != k[2])
    fail("linear_attention", "q.shape[2]", q[2],
         fmt::format("{} (k's tokens, as attention is causal)", k[2]));
  if (!std::isfinite(args.scale)) fail("linear_attention", "scale", args.scale, "a finite number");
  if (computing_type(args.q.dtype()) != DType::kF64 &&
      std::abs(args.scale) > std::numeric_limits<float>::max())
    fail("linear_attention", "scale", args.scale,
         fmt::format("at most {:.2g} in magnitude for sums of f32",
                     std::numeric_limits<float>::max()));
  check_gates(args);
}

Shape state_shape(const LinearAttentionArgs& args) {
  return {args.q.dim(0), args.k.dim(1), args.features.features(args.q.dim(3)),
          args.v.dim(3) + (args.normalised ? 1 : 0)};
}

// A copy of the caller's state, or zeros.
Tensor state_of(const char* what, const ConstView& given, const LinearAttentionArgs& args) {
  const DType dtype = computing_type(args.q.dtype());
  if (!given.given()) return Tensor::zeros(state_shape(args), dtype);
  if (!is_floating(given.dtype()))
    fail("linear_attention", what, name(given.dtype()), "a floating type");
  check_shape(what, given, state_shape(args));
  return Tensor::converted(given, dtype);
}

// v with an additional column of ones, whose sum over the tokens is the denominator.
template <typename T>
Tensor with_ones(const ConstView& v) {
  const Computable from(v);
  const std::int64_t width = v.dim(3);
  const std::int64_t rows = v.dim(0) * v.dim(1) * v.dim(2);
  Tensor wider = Tensor::empty({v.dim(0), v.dim(1), v.dim(2), width + 1}, from.view().dtype());
  for (std::int64_t row = 0; row < rows; ++row) {
    T* to = std::copy_n(from.view().template data<T>() + row * width, width,
                        wider.data<T>() + row * (width + 1));
    *to = 1;
  }
  return wider;
}

// The kernel's inputs, row-major in the computing type.
template <typename T>
struct Operands {
  explicit Operands(const LinearAttentionArgs& args)
      : q(map_features(args.q, args.features)),
        k(map_features(args.k, args.features)),
        v(args.normalised ? with_ones<T>(args.v) : Tensor::converted(args.v, DTypeOf<T>::value)),
        decay(args.decay),
        beta(args.beta),
        scale(static_cast<T>(args.scale)),
        causal(args.causal),
        groups(k.dim(1)) {}

  // The kernel's problem for one (batch, key/value head).
  kernels::LinearAttentionHead<T> head(std::int64_t place, Tensor& state) const {
    const std::int64_t tokens = k.dim(2);
    const std::int64_t features = k.dim(3);
    const std::int64_t group = q.dim(1) / groups;
    const std::int64_t decay_width = decay.view().given() ? decay.view().dim(3) : 0;
    const std::int64_t beta_place =
        beta.view().given() && beta.view().dim(1) == 1 ? place / groups : place;
    return {.queries = q.dim(2),
            .tokens = tokens,
            .features = features,
            .values = v.dim(3),
            .group = group,
            .q = q.data<T>() + place * group * q.dim(2) * features,
            .k = k.data<T>() + place * tokens * features,
            .v = v.data<T>() + place * tokens * v.dim(3),
            .decay = decay_width == 0
                         ? nullptr
                         : decay.view().template data<T>() + place * tokens * decay_width,
            .decay_width = decay_width,
            .beta = beta.view().given() ? beta.view().template data<T>() + beta_place * tokens
                                        : nullptr,
            .scale = scale,
            .causal = causal,
            .state = state.data<T>() + place * features * v.dim(3)};
  }
  std::int64_t places() const { return k.dim(0) * groups; }
  // The index of this head's first row among all rows of queries.
  std::int64_t query_rows(std::int64_t place) const {
    return place * (q.dim(1) / groups) * q.dim(2);
  }

  Tensor q, k, v;
  Computable decay, beta;
  T scale;
  bool causal;
  std::int64_t groups;
};

template <typename T>
Tensor run(const Operands<T>& operands, Tensor& state) {
  const Tensor& q = operands.q;
  const std::int64_t values = operands.v.dim(3);
  Tensor out = Tensor::empty({q.dim(0), q.dim(1), q.dim(2), values}, DTypeOf<T>::value);
  parallel_for(operands.places(), [&](std::int64_t place, int /*thread*/) {
    kernels::linear_attention(operands.head(place, state),
                              out.data<T>() + operands.query_rows(place) * values);
  });
  return out;
}

// Divides by the last of `width` columns; gives 0 if that is 0.
template <typename T>
Tensor divided(const Tensor& wide) {
  const std::int64_t width = wide.dim(3);
  Tensor out = Tensor::empty({wide.dim(0), wide.dim(1), wide.dim(2), width - 1}, wide.dtype());
  for (std::int64_t row = 0; row < wide.element_count() / width; ++row) {
    const T* from = wide.data<T>() + row * width;
    T* to = out.data<T>() + row * (width - 1);
    for (std::int64_t c = 0; c + 1 < width; ++c)
      to[c] = from[width - 1] == 0 ? 0 : from[c] / from[width - 1];
  }
  return out;
}

// The cotangent of `wide` from that of `divided(wide)`.
template <typename T>
Tensor divided_backward(const Tensor& wide, const ConstView& dout) {
  const std::int64_t width = wide.dim(3);
  Tensor dwide = Tensor::zeros(wide.shape(), wide.dtype());
  for (std::int64_t row = 0; row < wide.element_count() / width; ++row) {
    const T* from = wide.data<T>() + row * width;
    const T* dy = dout.data<T>() + row * (width - 1);
    T* to = dwide.data<T>() + row * width;
    const T denominator = from[width - 1];
    if (denominator == 0) continue;
    for (std::int64_t c = 0; c + 1 < width; ++c) {
      to[c] = dy[c] / denominator;
      to[width - 1] -= dy[c] * from[c] / (denominator * denominator);
    }
  }
  return dwide;
}

template <typename T>
LinearAttended forward(const LinearAttentionArgs& args) {
  const Operands<T> operands(args);
  Tensor state = state_of("state", args.state, args);
  Tensor out = run(operands, state);
  if (args.normalised) out = divided<T>(out);
  return {rounded(std::move(out), args.q.dtype()), std::move(state)};
}

// Gradients for the features, values and gates, [B, H or G, T, ...]; advances `state` to the last
// one.
template <typename T>
LinearAttentionGrads run_backward(const Operands<T>& operands, const Tensor& cotangent,
                                  Tensor& state, Tensor dstate) {
  const auto like = [](const Shape& shape) { return Tensor::empty(shape, DTypeOf<T>::value); };
  LinearAttentionGrads grads = {.dq = like(operands.q.shape()),
                                .dk = like(operands.k.shape()),
                                .dv = like(operands.v.shape()),
                                .dstate = std::move(dstate),
                                .ddecay = {},
                                .dbeta = {}};
  const ConstView& decay = operands.decay.view();
  const ConstView& beta = operands.beta.view();
  if (decay.given()) grads.ddecay = like(decay.shape());
  if (beta.given()) grads.dbeta = like({beta.dim(0), operands.groups, beta.dim(2)});
  parallel_for(operands.places(), [&](std::int64_t place, int /*thread*/) {
    const kernels::LinearAttentionHead<T> head = operands.head(place, state);
    const std::int64_t row = operands.query_rows(place);
    const std::int64_t token = place * head.tokens;
    kernels::linear_attention_backward(
        head,
        {.dout = cotangent.data<T>() + row * head.values,
         .dstate = grads.dstate.template data<T>() + place * head.features * head.values,
         .dq = grads.dq.template data<T>() + row * head.features,
         .dk = grads.dk.template data<T>() + token * head.features,
         .dv = grads.dv.template data<T>() + token * head.values,
         .ddecay = decay.given() ? grads.ddecay.template data<T>() + token * decay.dim(3) : nullptr,
         .dbeta = beta.given() ? grads.dbeta.template data<T>() + token : nullptr});
  });
  return grads;
}

// [B, 1, T] from [B, G, T].
template <typename T>
Tensor sum_over_heads(const Tensor& each) {
  const std::int64_t heads = each.dim(1), tokens = each.dim(2);
  Tensor sums = Tensor::zeros({each.dim(0), 1, tokens}, each.dtype());
  for (std::int64_t row = 0; row < each.dim(0) * heads; ++row)
    for (std::int64_t t = 0; t < tokens; ++t)
      sums.data<T>()[row / heads * tokens + t] += each.data<T>()[row * tokens + t];
  return sums;
}

template <typename T>
LinearAttentionGrads backward(const LinearAttentionArgs& args, const ConstView& dout,
                              const ConstView& dstate) {
  const Operands<T> operands(args);
  Tensor cotangent = Tensor::converted(dout, DTypeOf<T>::value);
  if (args.normalised) {
    Tensor state = state_of("state", args.state, args);
    cotangent = divided_backward<T>(run(operands, state), cotangent);
  }
  Tensor state = state_of("state", args.state, args);
  LinearAttentionGrads grads =
      run_backward(operands, cotangent, state, state_of("dstate", dstate, args));
  grads.dq = map_features_backward(args.q, args.features, grads.dq);
  grads.dk = map_features_backward(args.k, args.features, grads.dk);
  grads.dv = Tensor::converted(grads.dv.view().slice(3, 0, args.v.dim(3)), args.q.dtype());
  if (args.decay.given()) grads.ddecay = rounded(std::move(grads.ddecay), args.q.dtype());
  if (args.beta.given()) {
    if (args.beta.dim(1) < grads.dbeta.dim(1)) grads.dbeta = sum_over_heads<T>(grads.dbeta);
    grads.dbeta = rounded(std::move(grads.dbeta), args.q.dtype());
  }
  return grads;
}

}  // namespace

LinearAttended linear_attention(const LinearAttentionArgs& args) {
  check(args);
  return args.q.dtype() == DType::kF64 ? forward<double>(args) : forward<float>(args);
}

LinearAttentionGrads linear_attention_backward(const LinearAttentionArgs& args,
                                               const ConstView& dout, const ConstView& dstate) {
  check(args);
  check_operand("dout", dout, args.q.dtype());
  check_shape("dout", dout, {args.q.dim(0), args.q.dim(1), args.q.dim(2), args.v.dim(3)});
  return args.q.dtype() == DType::kF64 ? backward<double>(args, dout, dstate)
                                       : backward<float>(args, dout, dstate);
}

}  // namespace heed
