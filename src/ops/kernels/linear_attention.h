// The recurrence of linear attention for one key/value head, in plain loops whose innermost runs
// over the Dv contiguous values: two multiply-adds per state element and token, in the L1 cache for
// states up to 64 x 128.
#pragma once

#include <cmath>
#include <cstdint>

namespace heed::kernels {

template <typename T>
struct LinearAttentionHead {
  std::int64_t queries = 0;
  std::int64_t tokens = 0;
  std::int64_t features = 0;     // F
  std::int64_t values = 0;       // Dv
  std::int64_t group = 0;        // query heads that read this state, adjacent in q and out
  const T* q = nullptr;          // [group, queries, F]
  const T* k = nullptr;          // [tokens, F]
  const T* v = nullptr;          // [tokens, Dv]
  const T* decay = nullptr;      // [tokens, decay_width]; null: none
  std::int64_t decay_width = 0;  // 1 or F
  const T* beta = nullptr;       // [tokens]; null: no delta rule
  T scale = 1;
  bool causal = true;
  T* state = nullptr;  // [F, Dv]
};

namespace linear {

template <typename T>
void decay_state(const LinearAttentionHead<T>& p, std::int64_t token) {
  const T* decay = p.decay + token * p.decay_width;
  T factor = std::exp(decay[0]);
  for (std::int64_t f = 0; f < p.features; ++f) {
    if (p.decay_width > 1) factor = std::exp(decay[f]);
    for (std::int64_t c = 0; c < p.values; ++c) p.state[f * p.values + c] *= factor;
  }
}

// S += f w^T for one row w of Dv values.
template <typename T>
void add_outer(const LinearAttentionHead<T>& p, const T* f, const T* w, T* state) {
  for (std::int64_t row = 0; row < p.features; ++row)
    for (std::int64_t c = 0; c < p.values; ++c) state[row * p.values + c] += f[row] * w[c];
}

// to = S^T f.
template <typename T>
void read(const LinearAttentionHead<T>& p, const T* state, const T* f, T* to) {
  for (std::int64_t c = 0; c < p.values; ++c) to[c] = 0;
  for (std::int64_t row = 0; row < p.features; ++row)
    for (std::int64_t c = 0; c < p.values; ++c) to[c] += f[row] * state[row * p.values + c];
}

// to = S w.
template <typename T>
void read_across(const LinearAttentionHead<T>& p, const T* state, const T* w, T* to) {
  for (std::int64_t row = 0; row < p.features; ++row) {
    T sum = 0;
    for (std::int64_t c = 0; c < p.values; ++c) sum += state[row * p.values + c] * w[c];
    to[row] = sum;
  }
}

// `scratch` holds Dv values.
template <typename T>
void update(const LinearAttentionHead<T>& p, std::int64_t token, T* scratch) {
  const T* f = p.k + token * p.features;
  const T* v = p.v + token * p.values;
  if (p.decay != nullptr) decay_state(p, token);
  if (p.beta == nullptr) return add_outer(p, f, v, p.state);
  read(p, p.state, f, scratch);
  for (std::int64_t c = 0; c < p.values; ++c) scratch[c] = p.beta[token] * (v[c] - scratch[c]);
  add_outer(p, f, scratch, p.state);
}

template <typename T>
void answer(const LinearAttentionHead<T>& p, std::int64_t query, T* out) {
  for (std::int64_t head = 0; head < p.group; ++head) {
    const std::int64_t row = head * p.queries + query;
    T* to = out + row * p.values;
    read(p, p.state, p.q + row * p.features, to);
    for (std::int64_t c = 0; c < p.values; ++c) to[c] *= p.scale;
  }
}

}  // namespace linear

/// out [group, queries, Dv]; `state` becomes the one after the last token.
template <typename T>
void linear_attention(const LinearAttentionHead<T>& p, T* out, T* scratch) {
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    linear::update(p, token, scratch);
    if (p.causal) linear::answer(p, token, out);
  }
  for (std::int64_t query = 0; !p.causal && query < p.queries; ++query)
    linear::answer(p, query, out);
}

template <typename T>
struct LinearAttentionGradient {
  const T* dout = nullptr;  // [group, queries, Dv]
  T* dstate = nullptr;      // [F, Dv]: on entry for the last state, on return for the first
  T* dq = nullptr;          // [group, queries, F]
  T* dk = nullptr;          // [tokens, F]
  T* dv = nullptr;          // [tokens, Dv]
};

namespace linear {

// dq of one query for the state that it read.
template <typename T>
void query_gradient(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
                    std::int64_t query) {
  for (std::int64_t head = 0; head < p.group; ++head) {
    const std::int64_t row = head * p.queries + query;
    T* dq = grads.dq + row * p.features;
    read_across(p, p.state, grads.dout + row * p.values, dq);
    for (std::int64_t f = 0; f < p.features; ++f) dq[f] *= p.scale;
  }
}

// Adds one query's contribution to the gradient of the state that it read; `scratch` holds F
// values.
template <typename T>
void state_gradient(const LinearAttentionHead<T>& p, const LinearAttentionGradient<T>& grads,
                    std::int64_t query, T* scratch) {
  for (std::int64_t head = 0; head < p.group; ++head) {
    const std::int64_t row = head * p.queries + query;
    for (std::int64_t f = 0; f < p.features; ++f) scratch[f] = p.scale * p.q[row * p.features + f];
    add_outer(p, scratch, grads.dout + row * p.values, grads.dstate);
  }
}

}  // namespace linear

/// For the sum rule (decay and beta null). On entry `state` is the one before the first token, on
/// return the last; `scratch` holds F values.
template <typename T>
void linear_attention_backward(const LinearAttentionHead<T>& p,
                               const LinearAttentionGradient<T>& grads, T* scratch) {
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    linear::add_outer(p, p.k + token * p.features, p.v + token * p.values, p.state);
    if (p.causal) linear::query_gradient(p, grads, token);
  }
  for (std::int64_t query = 0; !p.causal && query < p.queries; ++query) {
    linear::query_gradient(p, grads, query);
    linear::state_gradient(p, grads, query, scratch);
  }
  for (std::int64_t token = p.tokens - 1; token >= 0; --token) {
    if (p.causal) linear::state_gradient(p, grads, token, scratch);
    linear::read_across(p, grads.dstate, p.v + token * p.values, grads.dk + token * p.features);
    linear::read(p, grads.dstate, p.k + token * p.features, grads.dv + token * p.values);
  }
}

}  // namespace heed::kernels
