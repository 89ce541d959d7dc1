// The recurrence of linear attention. A token changes the state S [F, Dv] by
//
//   e = v - S^T (a k)  (delta rules; else v),   S = a S + (b k) e^T,
//
// where a is the factor of each row of S (1 without decay) and b is beta (1 without a delta rule).
// Loops run over the rows of S for up to four vectors of its columns, whose sums stay in registers.
// Bound by the L1 cache: a token reads the state of a head, 16 KB at 64 x 64, up to three times
// forward, and this and its gradient nine times backward. Plain loops with sums in double took nine
// times as long in the backward pass (Zen 4, 64 x 64, 512 tokens).
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/linear_attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// kVectors vectors of columns of a row.
template <typename Tag, int kVectors>
struct Columns {
  using Vector = hn::Vec<Tag>;
  static constexpr int kCount = kVectors;

  std::int64_t begin;

  template <typename T>
  HWY_INLINE Vector load(const T* row, int i) const {
    return hn::LoadU(Tag(), row + begin + i * static_cast<std::int64_t>(hn::Lanes(Tag())));
  }
  template <typename T>
  HWY_INLINE void store(Vector vector, T* row, int i) const {
    hn::StoreU(vector, Tag(), row + begin + i * static_cast<std::int64_t>(hn::Lanes(Tag())));
  }
};

template <typename Tag>
HWY_INLINE hn::TFromD<Tag> sum_of(Tag tag, hn::Vec<Tag> vector) {
  return hn::GetLane(hn::SumOfLanes(tag, vector));
}

// `step(tag, columns)` for four vectors at once, for single vectors, and for single numbers.
template <typename T, typename Step>
HWY_INLINE void for_columns(std::int64_t count, const Step& step) {
  using Whole = hn::ScalableTag<T>;
  using One = hn::CappedTag<T, 1>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Whole()));
  std::int64_t c = 0;
  for (; c + 4 * lanes <= count; c += 4 * lanes) step(Whole(), Columns<Whole, 4>{c});
  for (; c + lanes <= count; c += lanes) step(Whole(), Columns<Whole, 1>{c});
  for (; c < count; ++c) step(One(), Columns<One, 1>{c});
}

// to = factor S^T x + first, for x [F]; `first` may be null.
template <typename T>
void read(const LinearAttentionHead<T>& p, const T* state, const T* x, T factor, const T* first,
          T* to) {
  for_columns<T>(p.values, [&](auto d, auto part) HWY_ATTR {
    hn::Vec<decltype(d)> sums[part.kCount];
    for (int i = 0; i < part.kCount; ++i) sums[i] = hn::Zero(d);
    for (std::int64_t f = 0; f < p.features; ++f)
      for (int i = 0; i < part.kCount; ++i)
        sums[i] = hn::MulAdd(hn::Set(d, x[f]), part.load(state + f * p.values, i), sums[i]);
    for (int i = 0; i < part.kCount; ++i) {
      const auto product = hn::Mul(hn::Set(d, factor), sums[i]);
      part.store(first == nullptr ? product : hn::Add(part.load(first, i), product), to, i);
    }
  });
}

// The factors of one token, F numbers each.
template <typename T>
struct Factors {
  T *a, *ak, *bk;
};

template <typename T>
void set_factors(const LinearAttentionHead<T>& p, std::int64_t token, const Factors<T>& factors) {
  const T* const k = p.k + token * p.features;
  const T* const decay = p.decay + token * p.decay_width;
  const T beta = p.beta == nullptr ? T(1) : p.beta[token];
  T a = p.decay == nullptr ? T(1) : std::exp(decay[0]);
  for (std::int64_t f = 0; f < p.features; ++f) {
    if (p.decay_width > 1) a = std::exp(decay[f]);
    factors.a[f] = a;
    factors.ak[f] = a * k[f];
    factors.bk[f] = beta * k[f];
  }
}

// From the state before a token to the one after it, which may lie at the same place.
template <typename T>
void advance(const LinearAttentionHead<T>& p, std::int64_t token, const Factors<T>& factors,
             const T* before, T* error, T* after) {
  const T* const v = p.v + token * p.values;
  set_factors(p, token, factors);
  if (p.beta != nullptr)
    read(p, before, factors.ak, T(-1), v, error);
  else
    std::memcpy(error, v, static_cast<std::size_t>(p.values) * sizeof(T));
  for_columns<T>(p.values, [&](auto d, auto part) HWY_ATTR {
    for (std::int64_t f = 0; f < p.features; ++f)
      for (int i = 0; i < part.kCount; ++i) {
        const auto write = hn::Mul(hn::Set(d, factors.bk[f]), part.load(error, i));
        const auto kept = part.load(before + f * p.values, i);
        part.store(hn::MulAdd(hn::Set(d, factors.a[f]), kept, write), after + f * p.values, i);
      }
  });
}

template <typename T>
void answer(const LinearAttentionHead<T>& p, std::int64_t query, T* out) {
  for (std::int64_t head = 0; head < p.group; ++head) {
    const std::int64_t row = head * p.queries + query;
    read<T>(p, p.state, p.q + row * p.features, p.scale, nullptr, out + row * p.values);
  }
}

// `scratch` holds 3 F + Dv numbers.
template <typename T>
void forward(const LinearAttentionHead<T>& p, T* out, T* scratch) {
  const Factors<T> factors = {scratch, scratch + p.features, scratch + 2 * p.features};
  T* const error = scratch + 3 * p.features;
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    advance(p, token, factors, p.state, error, p.state);
    if (p.causal) answer(p, token, out);
  }
  for (std::int64_t query = 0; !p.causal && query < p.queries; ++query) answer(p, query, out);
}

// dq of one query that read `state`; adds its part of the state's gradient.
template <typename T>
void query_backward(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
                    std::int64_t query, const T* state) {
  for (std::int64_t head = 0; head < p.group; ++head) {
    const std::int64_t row = head * p.queries + query;
    const T* const q = p.q + row * p.features;
    const T* const dout = grads.dout + row * p.values;
    T* const dq = grads.dq + row * p.features;
    std::memset(dq, 0, static_cast<std::size_t>(p.features) * sizeof(T));
    for_columns<T>(p.values, [&](auto d, auto part) HWY_ATTR {
      for (std::int64_t f = 0; f < p.features; ++f) {
        const auto share = hn::Set(d, p.scale * q[f]);
        auto sum = hn::Zero(d);
        for (int i = 0; i < part.kCount; ++i) {
          const auto dy = part.load(dout, i);
          sum = hn::MulAdd(dy, part.load(state + f * p.values, i), sum);
          T* const drow = grads.dstate + f * p.values;
          part.store(hn::MulAdd(share, dy, part.load(drow, i)), drow, i);
        }
        dq[f] += p.scale * sum_of(d, sum);
      }
    });
  }
}

// dv, dbeta and the part of dk that comes from the write (b k) e^T. `dbk` holds F numbers.
template <typename T>
void write_backward(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
                    std::int64_t token, const Factors<T>& factors, const T* error, T* dbk) {
  std::memset(dbk, 0, static_cast<std::size_t>(p.features) * sizeof(T));
  for_columns<T>(p.values, [&](auto d, auto part) HWY_ATTR {
    hn::Vec<decltype(d)> de[part.kCount];
    for (int i = 0; i < part.kCount; ++i) de[i] = hn::Zero(d);
    for (std::int64_t f = 0; f < p.features; ++f) {
      auto sum = hn::Zero(d);
      for (int i = 0; i < part.kCount; ++i) {
        const auto dwrite = part.load(grads.dstate + f * p.values, i);
        sum = hn::MulAdd(dwrite, part.load(error, i), sum);
        de[i] = hn::MulAdd(hn::Set(d, factors.bk[f]), dwrite, de[i]);
      }
      dbk[f] += sum_of(d, sum);
    }
    for (int i = 0; i < part.kCount; ++i) part.store(de[i], grads.dv + token * p.values, i);
  });
  const T beta = p.beta == nullptr ? T(1) : p.beta[token];
  T dbeta = 0;
  for (std::int64_t f = 0; f < p.features; ++f) {
    dbeta += p.k[token * p.features + f] * dbk[f];
    grads.dk[token * p.features + f] = beta * dbk[f];
  }
  if (p.beta != nullptr) grads.dbeta[token] = dbeta;
}

// The rest: through a S and, for delta rules, through e. `da` holds F numbers.
template <typename T>
void kept_backward(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
                   std::int64_t token, const Factors<T>& factors, const T* before, T* da) {
  const bool corrects = p.beta != nullptr;
  if (!corrects && p.decay == nullptr) return;
  const T* const k = p.k + token * p.features;
  T* const dk = grads.dk + token * p.features;
  std::memset(da, 0, static_cast<std::size_t>(p.features) * sizeof(T));
  for_columns<T>(p.values, [&](auto d, auto part) HWY_ATTR {
    for (std::int64_t f = 0; f < p.features; ++f) {
      auto dk_sum = hn::Zero(d);
      auto da_sum = hn::Zero(d);
      const auto key = hn::Set(d, corrects ? k[f] : T(0));
      for (int i = 0; i < part.kCount; ++i) {
        const auto de = part.load(grads.dv + token * p.values, i);
        const auto kept = part.load(before + f * p.values, i);
        T* const drow = grads.dstate + f * p.values;
        const auto dkept = hn::NegMulAdd(key, de, part.load(drow, i));
        dk_sum = hn::MulAdd(de, kept, dk_sum);
        da_sum = hn::MulAdd(dkept, kept, da_sum);
        part.store(hn::Mul(hn::Set(d, factors.a[f]), dkept), drow, i);
      }
      if (corrects) dk[f] -= factors.a[f] * sum_of(d, dk_sum);
      da[f] += sum_of(d, da_sum);
    }
  });
  if (p.decay == nullptr) return;
  T* const ddecay = grads.ddecay + token * p.decay_width;
  for (std::int64_t column = 0; column < p.decay_width; ++column) ddecay[column] = 0;
  for (std::int64_t f = 0; f < p.features; ++f)
    ddecay[p.decay_width > 1 ? f : 0] += factors.a[f] * da[f];
}

// Keeps the state before every `apart`th token, and computes those between them again. `scratch`
// holds 4 F + apart Dv + (ceil(tokens / apart) + apart + 1) F Dv numbers.
template <typename T>
void backward(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
              std::int64_t apart, T* scratch) {
  const Factors<T> factors = {scratch, scratch + p.features, scratch + 2 * p.features};
  T* const sums = scratch + 3 * p.features;
  T* const errors = sums + p.features;  // of the tokens between two kept states
  const std::int64_t size = p.features * p.values;
  T* const states = errors + apart * p.values;  // before these tokens, and after the last
  T* const kept = states + (apart + 1) * size;
  const auto bytes = static_cast<std::size_t>(size) * sizeof(T);
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    if (token % apart == 0) std::memcpy(kept + token / apart * size, p.state, bytes);
    advance(p, token, factors, p.state, errors, p.state);
  }
  for (std::int64_t query = 0; !p.causal && query < p.queries; ++query)
    query_backward(p, grads, query, p.state);
  for (std::int64_t part = (p.tokens + apart - 1) / apart; part-- > 0;) {
    const std::int64_t begin = part * apart;
    const std::int64_t count = p.tokens - begin < apart ? p.tokens - begin : apart;
    std::memcpy(states, kept + part * size, bytes);
    for (std::int64_t i = 0; i < count; ++i)
      advance(p, begin + i, factors, states + i * size, errors + i * p.values,
              states + (i + 1) * size);
    for (std::int64_t i = count; i-- > 0;) {
      if (p.causal) query_backward(p, grads, begin + i, states + (i + 1) * size);
      set_factors(p, begin + i, factors);
      write_backward(p, grads, begin + i, factors, errors + i * p.values, sums);
      kept_backward(p, grads, begin + i, factors, states + i * size, sums);
    }
  }
}

void forward_f32(const LinearAttentionHead<float>& p, float* out, float* scratch) {
  forward(p, out, scratch);
}
void forward_f64(const LinearAttentionHead<double>& p, double* out, double* scratch) {
  forward(p, out, scratch);
}
void backward_f32(const LinearAttentionHead<float>& p, const LinearAttentionGradient<float>& grads,
                  std::int64_t apart, float* scratch) {
  backward(p, grads, apart, scratch);
}
void backward_f64(const LinearAttentionHead<double>& p,
                  const LinearAttentionGradient<double>& grads, std::int64_t apart,
                  double* scratch) {
  backward(p, grads, apart, scratch);
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);

template <typename T>
std::vector<T> forward_scratch(const LinearAttentionHead<T>& p) {
  return std::vector<T>(static_cast<std::size_t>(3 * p.features + p.values));
}

std::int64_t distance_of_kept_states(std::int64_t tokens) {
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(std::sqrt(static_cast<double>(tokens))));
}

template <typename T>
std::vector<T> backward_scratch(const LinearAttentionHead<T>& p, std::int64_t apart) {
  const std::int64_t states = (p.tokens + apart - 1) / apart + apart + 1;
  return std::vector<T>(
      static_cast<std::size_t>(4 * p.features + apart * p.values + states * p.features * p.values));
}

}  // namespace

void linear_attention(const LinearAttentionHead<float>& head, float* out) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(head, out, forward_scratch(head).data());
}

void linear_attention(const LinearAttentionHead<double>& head, double* out) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(head, out, forward_scratch(head).data());
}

void linear_attention_backward(const LinearAttentionHead<float>& head,
                               const LinearAttentionGradient<float>& grads) {
  const std::int64_t apart = distance_of_kept_states(head.tokens);
  HWY_DYNAMIC_DISPATCH(backward_f32)(head, grads, apart, backward_scratch(head, apart).data());
}

void linear_attention_backward(const LinearAttentionHead<double>& head,
                               const LinearAttentionGradient<double>& grads) {
  const std::int64_t apart = distance_of_kept_states(head.tokens);
  HWY_DYNAMIC_DISPATCH(backward_f64)(head, grads, apart, backward_scratch(head, apart).data());
}

}  // namespace heed::kernels
#endif
