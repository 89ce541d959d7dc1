// The gradients of attention, and of what is observed of its weights.
#ifndef HEED_C_GRADIENTS_H
#define HEED_C_GRADIENTS_H

#include "heed/c/attention.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// Where gradients are written: those that are given are computed. Any strides; they overlap
/// nothing.
typedef struct heed_gradients {
  size_t size;
  heed_view dq;      // of q's shape and type
  heed_view dk;      // of k's; contiguous and packed keys of floating types have it
  heed_view dv;      // of v's; likewise
  heed_view dbias;   // of the bias's own: summed over what it is broadcast over
  heed_view dslope;  // [H], of ALiBi: of the slopes' type
  heed_view dsink;   // [H], of the sink's type
  heed_view dscale;  // [H] where there is a scale a head, else [1]; f32 (f64 for f64)
} heed_gradients;

static inline heed_gradients heed_gradients_default(void) {
  heed_gradients gradients;
  memset(&gradients, 0, sizeof gradients);
  gradients.size = sizeof gradients;
  return gradients;
}

/// Gradients for the cotangents `dout` (of out's shape and type) and `dlse` (of lse's; null: 0).
/// `attended` needs out and lse; lse_low and out_low make it exact to the last bits. Rounds once;
/// deterministic. After an error the gradients may hold anything.
HEED_API heed_status heed_attention_backward(const heed_attention_args* args,
                                             const heed_attended* attended, const heed_view* dout,
                                             const heed_view* dlse, const heed_gradients* into);

/// Gradients of what is observed: of sum_i dentropy_i entropy_i + sum_j dreceived_j received_j,
/// with `dentropy` [B, H, Tq] and `dreceived` [B, H, Tk], row-major, f32 (f64 for f64); null: 0.
/// `attended` needs lse. dv is 0.
HEED_API heed_status heed_observe_backward(const heed_attention_args* args,
                                           const heed_attended* attended, const heed_view* dentropy,
                                           const heed_view* dreceived, const heed_gradients* into);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
