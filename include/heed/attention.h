// Exact attention, forward and backward, in memory linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed {

/// k [B, G, Tk, D] and v [B, G, Tk, Dv] with H % G == 0: query head h reads key/value head h / (H /
/// G). Any strides; f64, f32, f16, bf16 or i8 each (f64 only if q is f64). Key j of row b is stored
/// in one of four forms:
///   contiguous  in slot key_begin[b] + j of its row;
///   packed      k [G, total, D], v [G, total, Dv], in slot key_starts[b] + j (Extents);
///   paged       k [pages, G, P, D], v [pages, G, P, Dv]: with s = key_begin[b] + j, in slot s mod
///               P of page page_table[b, s / P]; rows may share pages, any P. Extents.key_length
///               must say how many keys there are, since the last page is seldom full;
///   ring        in slot (ring_begin[b] + j) mod Tk of its row: key 0 is the oldest.
/// All four forms give the same bits for the same keys. Slots that hold no key of the row are never
/// read. dk and dv need contiguous or packed keys of a floating type; every other gradient and the
/// observers accept all forms.
struct Keys {
  ConstView k = {};
  ConstView v = {};
  ConstView page_table = {};  // [B, N] i32 or i64; entries past a row's keys may be anything
  std::vector<std::int64_t> ring_begin = {};  // one entry per batch, or one for all
  /// Scales of i8: f32, in the form of k and v, with last extent ceil(D / 32) or ceil(Dv / 32)
  /// (`quantise`). An element's value is its integer times its scale, rounded to f32.
  ConstView k_scales = {};
  ConstView v_scales = {};
};

enum class Similarity : std::uint8_t { kDot, kCosine, kGaussian, kAbsolute };
enum class Normaliser : std::uint8_t { kSoftmax, kSigmoid, kNone };

/// How a score becomes a weight, in this order:
///   z = scale[h] * sim(q_i, k_j)   sim: q . k; the cosine q . k / (|q| |k|), each norm at least
///                                  1e-12 (a shorter vector gets gradient 0); the Gaussian's
///                                  -|q - k|^2; the absolute distance -|q - k|_1
///   z = softcap * tanh(z / softcap)
///   z = z + bias[b, h, i, j] - alibi[h] * |p_i - p_j|
///   the mask selects; a bias of -inf hides the pair like the mask
///   p = exp(z - lse) of the softmax, 1 / (1 + e^-z), or z itself
/// z has the type of the sums, f32 (f64 for f64). It may be any finite number: even at the largest
/// scores the weights of a row sum to 1. Scores far from 0 absorb smaller terms added to them. If
/// every bias of a row is the lowest f32 (torch.finfo.min), the row is the mean of its values; if
/// every bias is -inf, the row sees nothing and is 0. A sink adds a term e^sink to the softmax's
/// denominator and has no value.
struct Scores {
  /// Empty: 1 / sqrt(D) for dot and 1 otherwise; one number; or one per head.
  std::vector<double> scale = {};
  Similarity similarity = Similarity::kDot;
  double softcap = 0;  // 0: none
  /// Broadcasts right-aligned to [B, H, Tq, Tk] by stride 0; any float type. Its columns are keys,
  /// not slots: with padding on the left column 0 is the key in slot key_begin (Extents).
  ConstView bias = {};
  ConstView alibi = {};  // slopes [H] (Press et al. 2022); any float type
  ConstView sink = {};   // logits [H]; -inf: no sink; softmax only; any float type
  Normaliser normaliser = Normaliser::kSoftmax;
};

/// Kept iff word p_j & 3 of Philox 4x32-10 is at least round(rate * 2^32), with the key (seed low,
/// seed high) and the counter (p_j >> 2, p_i, (first_row + b) H + h, offset); kept weights are
/// scaled by 1 / (1 - rate). At rate 1 nothing is kept: out and the gradients through it are 0.
/// Every kernel and layout keeps the same weights, forward and backward. lse and observed weights
/// are taken before dropout.
struct Dropout {
  double rate = 0;  // in [0, 1]
  std::uint64_t seed = 0;
  std::uint32_t offset = 0;    // layer or step
  std::int64_t first_row = 0;  // index of the first row in the batch that the seed is for
};

/// Which rows and keys exist, and at which positions. Each list has one entry per batch, one for
/// all, or none (the default).
///
/// Key indices count existing keys, not slots: with left padding, key 0 is in slot key_begin, and
/// it has column 0 in `keep`, `blocks`, `edges`, `segments`, a bias and observers. These have shape
/// [B, H, Tq, Tk]. For packed sequences Tq and Tk are the queries and keys of the longest one; for
/// pages Tk is the largest key_length.
struct Extents {
  std::vector<std::int64_t> query_length = {};  // default Tq; rows past it: out 0, lse -inf, dq 0
  std::vector<std::int64_t> key_begin = {};     // slot of the first key (left padding); default 0
  std::vector<std::int64_t> key_length = {};    // number of keys; default Tk - key_begin (pages:
                                                // required)
  std::vector<std::int64_t> q_offset =
      {};  // position of query 0; default key_length - query_length + key_offset
  std::vector<std::int64_t> key_offset = {};  // position of key 0; default 0
  // Packed sequences follow one another. B + 1 ascending offsets, the first 0, say where each
  // sequence begins and the last one ends. They replace the lengths.
  std::vector<std::int64_t> query_starts = {};
  std::vector<std::int64_t> key_starts = {};
};

/// out_i = sum_j p_ij v_j, where p_i = softmax of z_ij over the visible keys j, z_ij = scale q_i .
/// k_j (Vaswani et al. 2017, equation 1; computed as Milakov & Gimelshein 2018 and Dao et al. 2022
/// do, without T x T). Scores describes other scores and weights.
///
/// Types: q and out f64, f32, f16 or bf16; k and v also i8, and f64 only if q is f64. Accumulates
/// in f32 (f64 for f64) and rounds once. Any strides, 0 included. Rows without a visible key: out
/// 0, lse -inf or the sink, all gradients 0. A masked position has no influence, even if it holds
/// NaN; at visible positions NaN and infinity propagate. B, H, Tq, Tk, Dv may be 0; D = 0 is an
/// error. Deterministic: the bits of a row do not depend on the number of threads, the rest of the
/// batch or the layout. All operators may be called from several threads at once.
struct AttentionArgs {
  ConstView q = {};  // [B, H, Tq, D], or packed [H, total, D]
  Keys keys = {};
  Extents extents = {};
  Mask mask = {};  // which query may attend to which key; default: all pairs
  Scores scores = {};
  std::optional<Dropout> dropout = {};
  std::string kernel =
      {};  // a candidate's name; empty: $HEED_FORCE, else the first that supports it
};

/// `lse[b, h, i]` is the natural log of the sum of exp(z_ij) over visible keys and the sink. One
/// f32 is too coarse for the weights at large scores, so the result is the unevaluated sum lse +
/// lse_low. Both are finite at any finite score. Far from 0, lse is the row's largest score and
/// lse_low the log of the rest: subtract one after the other. Sigmoid and none have no lse: both
/// are empty. An f16 or bf16 out is likewise kept as out + out_low: where one weight of a row is
/// near 1, the gradients of q and k are small differences, which the rounding error of out would
/// swamp. out_low is 0 where out is not finite.
struct Attended {
  Tensor out;      // [B, H, Tq, Dv], or [H, total, Dv]
  Tensor lse;      // [B, H, Tq], or [H, total]
  Tensor lse_low;  // same shape and type as lse
  Tensor out_low;  // as out; empty unless out has 16 bits
};

/// The same results in the caller's memory: out and out_low may have any strides that do not
/// overlap. Only `out` is required: gradients and observers need the others. lse_low needs lse
/// beside it.
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
  bool dslope = false;  // gradient of the ALiBi slopes
  bool dscale = false;
  ConstView dlse = {};  // cotangent of lse; default: 0
  // Where to write (shape of q, k, v; any strides that do not overlap); default: a new tensor.
  View dq_into = {};
  View dk_into = {};
  View dv_into = {};
};

/// A gradient is empty if it was not requested, or if the caller gave memory for it.
struct AttentionGrads {
  Tensor dq;      // [B, H, Tq, D]
  Tensor dk;      // [B, G, Tk, D]
  Tensor dv;      // [B, G, Tk, Dv]
  Tensor dbias;   // shape and type of the bias: summed over broadcast axes
  Tensor dsink;   // [H], type of the sink
  Tensor dslope;  // [H], type of the slopes
  Tensor dscale;  // [H] with a scale per head, else [1]; f32 (f64 for f64)
};

struct AttendedConstView {
  ConstView out;
  ConstView lse;
  ConstView lse_low = {};  // default: 0
  ConstView out_low = {};  // default: 0
};

/// Gradients for the cotangent `dout`, which has out's shape (Dao et al. 2022, algorithm 4).
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
  std::vector<Refusal> refusals;   // why the candidates before it refused
  std::string mask;                // the mask's describe()
  std::string alignment;           // placement of query 0: "bottom-right", "top-left" or "given"
  std::int64_t allowed_pairs = 0;  // summed over batch and heads
  double flop = 0;                 // 2 (D + Dv) per pair
  double bytes = 0;                // q, k, v read and out, lse written once
  std::int64_t workspace_bytes = 0;
  std::string text;  // the whole plan as text
};
/// Throws if a number of the plan exceeds 63 bits.
Plan plan_attention(const AttentionArgs& args);
Plan plan_attention_backward(const AttentionArgs& args, const AttentionGradRequest& request = {});

/// Two parts to merge: attention of the same queries over disjoint sets of keys, each computed
/// without a sink. A missing lse_low is 0.
///
/// By default a part positions its queries by its own keys. Where positions matter (bands,
/// prefixes, ALiBi, dropout), give every part the `q_offset` of the whole (default key_length -
/// query_length), and give a part that begins at the whole's key n `key_offset` n. Missing offsets
/// cause no error. Cut `keep`, `blocks`, `edges`, `segments` and a bias like the keys.
struct MergeArgs {
  AttendedConstView a = {};
  AttendedConstView b = {};
  ConstView sink = {};  // logits [H], added once, with the last merge
};

/// Attention over the keys of both parts, within rounding:
///   lse = ln(exp(lse_a) + exp(lse_b) + exp(sink)),  out = exp(lse_a - lse) out_a + exp(lse_b -
///   lse) out_b
/// in f64, kept as lse + lse_low as `attention` does (Milakov & Gimelshein 2018, section 3.1). A
/// part whose lse is -inf is neutral, whatever its out holds: the result has the other part's bits.
/// NaN propagates. Parts without lse (sigmoid, none) are added and accept no sink. 16-bit parts are
/// used as rounded: out_low is neither read nor returned.
///
/// out is [B, H, Tq, Dv] or packed [H, total, Dv] in f64, f32, f16 or bf16, with any strides. lse
/// and lse_low have out's leading axes, in f32 (f64 for f64). Extents may be 0. The bits do not
/// depend on the number of threads.
Attended merge(const MergeArgs& args);
Attended merge(const Attended& a, const Attended& b, const ConstView& sink = {});

struct MergeGrads {
  Tensor dout_a;  // shape and type of out
  Tensor dlse_a;  // shape of lse; empty if there is none
  Tensor dout_b;
  Tensor dlse_b;
  Tensor dsink;  // [H], type of the sink; empty without one
};

/// Gradients for the cotangents of `merged`, the result of merge(args); a missing dlse is 0. Each
/// part's results are inputs for its attention_backward. A part whose lse is -inf gets 0.
MergeGrads merge_backward(const MergeArgs& args, const AttendedConstView& merged,
                          const ConstView& dout, const ConstView& dlse = {});

/// The shape of the scales of i8 values: `shape` with its last extent D replaced by ceil(D / 32).
Shape scales_shape(Shape shape);

/// i8 with one f32 scale for each 32 consecutive elements of a row: a cache of keys takes a quarter
/// of the memory.
struct Quantised {
  Tensor values;  // i8, shape of x
  Tensor scales;  // f32, shape scales_shape(x)
};

/// scale = max|x| / 127 of each group of 32 (the last may be shorter), value = x / scale rounded to
/// nearest even, in f32; a group of zeros has scale 0. A group with a NaN or an infinity becomes
/// NaN as a whole: its scale is NaN.
///
/// x: f64, f32, f16 or bf16, rank 1 or more, any strides; extents may be 0. The bits do not depend
/// on the number of threads.
Quantised quantise(const ConstView& x);

/// value * scale, rounded to f32: the numbers that attention reads.
Tensor dequantise(const ConstView& values, const ConstView& scales);

}  // namespace heed
