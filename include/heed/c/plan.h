// Which kernel would run, why the others do not, and what it costs.
#ifndef HEED_C_PLAN_H
#define HEED_C_PLAN_H

#include "heed/c/gradients.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// Belongs to the library; `size` says which fields it has.
typedef struct heed_plan {
  size_t size;
  const char* text;       // all of it in lines, as `heed explain` prints it
  const char* kernel;     // which runs
  const char* mask;       // as it describes itself: "band(left=-1, right=0)"
  const char* alignment;  // "bottom-right", "top-left" or "given": where query 0 stands
  int64_t allowed_pairs;  // over batch and heads
  double flop;
  double bytes;  // inputs read and results written once
  int64_t workspace_bytes;
  int64_t refusal_count;       // the kernels that were asked before it,
  const char* const* refused;  // their names
  const char* const* reasons;  // and why they do not serve
} heed_plan;

/// The plan of the forward pass, and that of a backward pass that writes what is given of `into`
/// (null: dq, dk and dv). Views need no memory. The caller frees the plan; null where it fails.
HEED_API heed_status heed_plan_attention(const heed_attention_args* args, const heed_plan** plan);
HEED_API heed_status heed_plan_attention_backward(const heed_attention_args* args,
                                                  const heed_gradients* into,
                                                  const heed_plan** plan);

/// Null is let pass.
HEED_API void heed_plan_free(const heed_plan* plan);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
