// Exact attention, forward and backward, in memory linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/masks/mask.h"
#include "heed/ops/keys.h"
#include "heed/ops/scores.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// Which rows and keys exist, and at which positions. Each list has one entry a batch, one for all,
/// or none (the default).
///
/// Keys are counted among those that exist, not in slots: with padding on the left key 0 is the one
/// in slot key_begin, and its column in `keep`, `blocks`, `edges`, `segments`, a bias and observers
/// is 0. They fit [B, H, Tq, Tk]: of q and k as they are; of packed sequences Tq and Tk are the
/// longest one's queries and keys; of pages Tk is the largest key_length.
struct Extents {
  std::vector<std::int64_t> query_length = {};  // default Tq; rows past it: out 0, lse -inf, dq 0
  std::vector<std::int64_t> key_begin = {};     // slot of the first key (left padding); default 0
  std::vector<std::int64_t> key_length = {};    // keys from there on; default Tk - key_begin, but
                                                // pages need it
  std::vector<std::int64_t> q_offset =
      {};  // position of query 0; default key_length - query_length + key_offset
  std::vector<std::int64_t> key_offset = {};  // position of key 0; default 0
  // Packed sequences lie one after the other. B + 1 rising offsets from 0 say where each begins
  // and where the last ends; they replace the lengths.
  std::vector<std::int64_t> query_starts = {};
  std::vector<std::int64_t> key_starts = {};
};

/// out_i = sum_j p_ij v_j,  p_i = softmax over the visible keys j of z_ij,  z_ij = scale * q_i .
/// k_j (Vaswani et al. 2017, equation 1; computed as Milakov & Gimelshein 2018 and Dao et al. 2022
/// do, without T x T). Scores says what else a score and a weight can be.
///
/// Types: q and out f64, f32, f16 or bf16; k and v any of them or i8, f64 only under q of f64.
/// Accumulates in f32 (f64 for f64) and rounds once. Any strides, 0 included. Rows without a
/// visible key: out 0, lse -inf or the sink, all gradients 0. A masked position has no influence,
/// even if it holds NaN; at visible positions NaN and infinity propagate. B, H, Tq, Tk, Dv may be
/// 0; D = 0 is an error. Deterministic: the same bits for any number of threads, for a row whatever
/// else is in the batch, and in every layout. All operators may be called from several threads at
/// once.
struct AttentionArgs {
  ConstView q = {};  // [B, H, Tq, D], or packed [H, total, D]
  Keys keys = {};
  Extents extents = {};
  Mask mask = {};  // who may attend to whom; default: everyone
  Scores scores = {};
  std::optional<Dropout> dropout = {};
  std::string kernel =
      {};  // a candidate's name; empty: the first that serves; $HEED_FORCE applies when empty
};

/// `lse[b, h, i]` is the natural log of the sum of exp(z_ij) over visible keys and the sink. One
/// f32 would lose the weights at large scores, so it is kept as the unevaluated sum lse + lse_low.
/// At any finite score both are finite. Far from 0, lse is the row's largest score and lse_low the
/// log of the rest: subtract one after the other. Sigmoid and none have no lse: both are empty.
/// An out of f16 or bf16 is kept as out + out_low in the same way: where one weight of a row is
/// near 1, gradients of q and k are small differences, which the rounding error of out would
/// swamp. out_low is 0 where out is not finite.
struct Attended {
  Tensor out;      // [B, H, Tq, Dv], or [H, total, Dv]
  Tensor lse;      // [B, H, Tq], or [H, total]
  Tensor lse_low;  // as lse
  Tensor out_low;  // as out; empty where that is not of 16 bit
};

/// The same, into memory of the caller: out and out_low may have any strides that do not overlap.
/// Only `out` is required: gradients and observers need the others. lse_low needs lse beside it.
struct AttendedView {
  View out;
  View lse = {};
  View lse_low = {};
  View out_low = {};
};

Attended attention(const AttentionArgs& args);
void attention(const AttentionArgs& args, const AttendedView& into);

/// Which gradients the backward pass computes: at least one.
struct AttentionGradRequest {
  bool dq = true;
  bool dk = true;
  bool dv = true;
  bool dbias = false;
  bool dsink = false;
  bool dslope = false;  // of ALiBi
  bool dscale = false;
  ConstView dlse = {};  // cotangent of lse; not given: 0
  // Where to write (shape of q, k, v; any strides that do not overlap); not given: a new tensor.
  View dq_into = {};
  View dk_into = {};
  View dv_into = {};
};

/// Empty where not asked for, or where the caller gave memory.
struct AttentionGrads {
  Tensor dq;      // [B, H, Tq, D]
  Tensor dk;      // [B, G, Tk, D]
  Tensor dv;      // [B, G, Tk, Dv]
  Tensor dbias;   // of the bias's own shape and type: summed over what it is broadcast over
  Tensor dsink;   // [H], of the sink's type
  Tensor dslope;  // [H], of the slopes' type
  Tensor dscale;  // [H] where there is a scale a head, else [1]; f32 (f64 for f64)
};

struct AttendedConstView {
  ConstView out;
  ConstView lse;
  ConstView lse_low = {};  // not given: 0
  ConstView out_low = {};  // not given: 0
};

/// Gradients for the cotangent `dout`, of out's shape (Dao et al. 2022, algorithm 4).
AttentionGrads attention_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                  const ConstView& dout, const AttentionGradRequest& request = {});
AttentionGrads attention_backward(const AttentionArgs& args, const Attended& attended,
                                  const ConstView& dout, const AttentionGradRequest& request = {});

/// Which kernel would run, and what it costs.
struct Plan {
  struct Refusal {
    std::string kernel;
    std::string reason;
  };
  std::string kernel;
  std::vector<Refusal> refusals;   // of the candidates before it
  std::string mask;                // as the mask describes itself
  std::string alignment;           // "bottom-right", "top-left" or "given": where query 0 stands
  std::int64_t allowed_pairs = 0;  // over batch and heads
  double flop = 0;                 // 2 (D + Dv) a pair
  double bytes = 0;                // q, k, v read and out, lse written once
  std::int64_t workspace_bytes = 0;
  std::string text;  // all of it in lines for people
};
/// An error where numbers of the plan do not fit 63 bits.
Plan plan_attention(const AttentionArgs& args);
Plan plan_attention_backward(const AttentionArgs& args, const AttentionGradRequest& request = {});

}  // namespace heed
