// The arguments of the recurrence of linear attention: raw pointers and plain data, already
// checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

/// One key/value head, and the query heads that read its state.
template <typename T>
struct LinearAttentionHead {
  std::int64_t queries = 0;
  std::int64_t tokens = 0;
  std::int64_t features = 0;     // F
  std::int64_t values = 0;       // Dv
  std::int64_t group = 0;        // query heads, adjacent in q and out
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

/// All but dstate are written.
template <typename T>
struct LinearAttentionGradient {
  const T* dout = nullptr;  // [group, queries, Dv]
  T* dstate = nullptr;      // [F, Dv]: on entry for the last state, on return for the first
  T* dq = nullptr;          // [group, queries, F]
  T* dk = nullptr;          // [tokens, F]
  T* dv = nullptr;          // [tokens, Dv]
  T* ddecay = nullptr;      // [tokens, decay_width]; null without decay
  T* dbeta = nullptr;       // [tokens]; null without a delta rule
};

/// out [group, queries, Dv]; `state` becomes the one after the last token.
void linear_attention(const LinearAttentionHead<float>& head, float* out);
void linear_attention(const LinearAttentionHead<double>& head, double* out);

/// On entry `state` is the one before the first token, on return the last. Keeps 2 sqrt(tokens)
/// states.
void linear_attention_backward(const LinearAttentionHead<float>& head,
                               const LinearAttentionGradient<float>& grads);
void linear_attention_backward(const LinearAttentionHead<double>& head,
                               const LinearAttentionGradient<double>& grads);

}  // namespace heed::kernels
