// Exact attention in memory linear in the text.
#ifndef HEED_C_ATTENTION_H
#define HEED_C_ATTENTION_H

#include "heed/c/mask.h"
#include "heed/c/view.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

enum {
  HEED_SIMILARITY_DOT = 0,       // q . k
  HEED_SIMILARITY_COSINE = 1,    // q . k / (|q| |k|), each norm at least 1e-12
  HEED_SIMILARITY_GAUSSIAN = 2,  // -|q - k|^2
  HEED_SIMILARITY_ABSOLUTE = 3   // -|q - k|_1
};

enum {
  HEED_NORMALISER_SOFTMAX = 0,
  HEED_NORMALISER_SIGMOID = 1,  // each score by itself: no lse, no sink
  HEED_NORMALISER_NONE = 2      // the score is the weight: no lse, no sink
};

/// One problem. With B batch, H query heads, G key/value heads (H % G == 0), Tq queries, Tk keys, D
/// and Dv head sizes:
///   z_ij = scale[h] * similarity(q_i, k_j);  z = softcap * tanh(z / softcap)
///   z_ij = z_ij + bias[b, h, i, j] - alibi[h] * |p_i - p_j|;  the mask selects
///   p_i  = softmax over the visible keys, with a term e^sink[h] in the denominator
///   out_i = sum_j p_ij v_j
/// docs/attention.md says all of it.
///
/// Types: q f64, f32, f16 or bf16; k and v any of them or i8 with scales, f64 only under q of f64.
/// Accumulates in f32 (f64 for f64) and rounds once. Any strides. A row without a visible key has
/// out 0 and lse -inf. A masked position has no influence, even if it holds NaN. Deterministic: the
/// same bits for any number of threads, and for a row whatever else is in the batch.
typedef struct heed_attention_args {
  size_t size;
  heed_view q;  // [B, H, Tq, D]; packed [H, total, D]
  heed_view k;  // [B, G, Tk, D]; packed [G, total, D]; paged [pages, G, P, D]
  heed_view v;  // as k, with Dv
  // Keys in pages, in a ring, in 8 bits. All three of them count keys from key_begin on.
  heed_view page_table;      // [B, N] i32 or i64: paged, which needs key_length
  heed_integers ring_begin;  // slot of the oldest key: a ring
  heed_view k_scales;        // of i8: f32, as k with ceil(D / 32) as the last extent
  heed_view v_scales;
  // What exists, and where it stands: one entry a batch, one for all, or none (the default).
  heed_integers query_length;  // default Tq; rows past it get out 0
  heed_integers key_begin;     // slot of the first key (left padding); default 0
  heed_integers key_length;    // keys from there on; default Tk - key_begin
  heed_integers q_offset;    // position of query 0; default key_length - query_length + key_offset
  heed_integers key_offset;  // position of key 0; default 0
  heed_integers query_starts;  // packed: B + 1 offsets, from 0 to total
  heed_integers key_starts;
  const heed_mask* mask;  // null: everyone
  // How a score becomes a weight.
  heed_numbers scale;  // none: 1 / sqrt(D) for dot, else 1; one number; or one a head
  int32_t similarity;  // HEED_SIMILARITY_DOT, ...
  int32_t normaliser;  // HEED_NORMALISER_SOFTMAX, ...
  double softcap;      // 0: none
  heed_view bias;      // any float type; broadcasts right-aligned to [B, H, Tq, Tk]; -inf hides
  heed_view alibi;     // slopes [H]; any float type
  heed_view sink;      // logits [H]; any float type
  // Dropout of weights: Philox 4x32-10 with this seed and offset (docs/attention.md).
  double dropout_rate;  // in [0, 1]; 0: none
  uint64_t dropout_seed;
  uint32_t dropout_offset;  // layer or step
  uint32_t reserved;        // 0
  const char* kernel;  // a kernel by name, as plans list them; null or "": the first that serves
} heed_attention_args;

/// What a forward pass leaves. As a result: memory of the caller's that overlaps nothing; `out` is
/// required, the others are written where they are given. For gradients and questions: what the
/// forward pass wrote.
typedef struct heed_attended {
  size_t size;
  heed_view out;  // [B, H, Tq, Dv], packed [H, total, Dv]; of q's type; any strides
  heed_view lse;  // [B, H, Tq], packed [H, total]; f32 (f64 for f64), row-major: ln of the sum of
                  // exp(z) over visible keys and the sink
  heed_view lse_low;  // as lse, which it completes: subtract one after the other
  heed_view out_low;  // as out, for f16 and bf16: what out lost in rounding
} heed_attended;

static inline heed_attention_args heed_attention_args_default(void) {
  heed_attention_args args;
  memset(&args, 0, sizeof args);
  args.size = sizeof args;
  return args;
}

static inline heed_attended heed_attended_default(void) {
  heed_attended attended;
  memset(&attended, 0, sizeof attended);
  attended.size = sizeof attended;
  return attended;
}

/// Computes `into->out` and what else is given there. After an error it may hold anything.
HEED_API heed_status heed_attention(const heed_attention_args* args, const heed_attended* into);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
