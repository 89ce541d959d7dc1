// Attention over keys that were split: a prefix that many rows share beside what each has of its
// own, a cache in several memories, a ring of machines.
#pragma once

#include "heed/ops/attention.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// Two parts: attention of the same queries over some of the keys each, no key in both, computed
/// without a sink. A lse_low that is not given is 0.
///
/// By default a part places its queries by its own keys. Where positions matter (bands, prefixes,
/// ALiBi, dropout) give every part the whole's `q_offset`, key_length - query_length by default,
/// and the part that begins with the whole's key n `key_offset` n: no error tells when they are
/// missing. `keep`, `blocks`, `edges`, `segments` and a bias are cut as the keys are.
struct MergeArgs {
  AttendedConstView a = {};
  AttendedConstView b = {};
  ConstView sink = {};  // logits [H], added once, when the last two parts meet
};

/// The attention over the keys of both, within rounding:
///   lse = ln(exp(lse_a) + exp(lse_b) + exp(sink)),  out = exp(lse_a - lse) out_a + exp(lse_b -
///   lse) out_b
/// in f64, kept as lse + lse_low as `attention` does (Milakov & Gimelshein 2018, section 3.1). A
/// part whose lse is -inf is neutral: the other's bits go through, whatever its out holds. NaN
/// propagates. Parts without lse (sigmoid, none) add, and take no sink. Parts of 16 bit are taken
/// as they were rounded: an out_low is not read, and what comes out has none.
///
/// out [B, H, Tq, Dv] or packed [H, total, Dv], of f64, f32, f16 or bf16, any strides; lse and
/// lse_low of its leading axes, f32 (f64 for f64). Extents may be 0. The same bits for any number
/// of threads.
Attended merge(const MergeArgs& args);
Attended merge(const Attended& a, const Attended& b, const ConstView& sink = {});

struct MergeGrads {
  Tensor dout_a;  // of out's shape and type
  Tensor dlse_a;  // of lse's; empty without one
  Tensor dout_b;
  Tensor dlse_b;
  Tensor dsink;  // [H], of the sink's type; empty without one
};

/// Gradients for the cotangents of `merged`, what merge(args) gave; a dlse that is not given is 0.
/// The results of each part are what attention_backward of that part takes. A part whose lse is
/// -inf gets 0.
MergeGrads merge_backward(const MergeArgs& args, const AttendedConstView& merged,
                          const ConstView& dout, const ConstView& dlse = {});

}  // namespace heed
