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
/// G). Any strides; each of f64, f32, f16, bf16 or i8 (f64 only under q of f64). Four forms hold
/// key j of row b:
///   contiguous  in slot key_begin[b] + j of its row;
///   packed      k [G, total, D], v [G, total, Dv], in slot key_starts[b] + j (Extents);
///   paged       k [pages, G, P, D], v [pages, G, P, Dv]: with s = key_begin[b] + j, in slot s mod
///               P of page page_table[b, s / P]; rows may share pages, any P. Extents.key_length
///               must say how many keys there are, since the last page is seldom full;
///   ring        in slot (ring_begin[b] + j) mod Tk of its row: key 0 is the oldest.
/// The same keys give the same bits in each of them. Slots that hold no key of the row are never
/// read. dk and dv are of contiguous and packed keys of floating types; every other gradient, and
/// the observers, take all.
struct Keys {
  ConstView k = {};
  ConstView v = {};
  ConstView page_table = {};  // [B, N] i32 or i64; entries past a row's keys may be anything
  std::vector<std::int64_t> ring_begin = {};  // one a batch, or one for all
  /// Scales of i8: f32, in k's and v's form with ceil(D / 32) and ceil(Dv / 32) as the last extent
  /// (`quantise`). An element counts as its integer times its scale, rounded to f32.
  ConstView k_scales = {};
  ConstView v_scales = {};
};

enum class Similarity : std::uint8_t { kDot, kCosine, kGaussian, kAbsolute };
enum class Normaliser : std::uint8_t { kSoftmax, kSigmoid, kNone };

/// In this order:
///   z = scale[h] * sim(q_i, k_j)   sim: q . k; the cosine q . k / (|q| |k|), each norm at least
///                                  1e-12 (a shorter vector gets gradient 0); the Gaussian's
///                                  -|q - k|^2; the absolute distance -|q - k|_1
///   z = softcap * tanh(z / softcap)
///   z = z + bias[b, h, i, j] - alibi[h] * |p_i - p_j|
///   the mask selects; a bias of -inf hides as the mask does
///   p = exp(z - lse) of the softmax, 1 / (1 + e^-z), or z itself
/// z has the type that sums have, f32 (f64 for f64), and may be any finite number: the weights of a
/// row sum to 1 at the largest too. Scores far from 0 absorb what is added to them. A row whose
/// every bias is the lowest f32 (torch.finfo.min) is the mean of its values; one whose every bias
/// is -inf sees nothing and is 0. A sink is one more term e^sink in the softmax's denominator,
/// without a value.
struct Scores {
  /// Empty: 1 / sqrt(D) for dot and 1 otherwise; one number; or one per head.
  std::vector<double> scale = {};
  Similarity similarity = Similarity::kDot;
  double softcap = 0;  // 0: none
  /// Broadcasts right-aligned to [B, H, Tq, Tk] by stride 0; any float type. Its columns are keys,
  /// not slots: with padding on the left column 0 is the key in slot key_begin (Extents).
  ConstView bias = {};
  ConstView alibi = {};  // slopes [H] (Press et al. 2022); any float type
  ConstView sink = {};   // logits [H]; -inf is none; with softmax only; any float type
  Normaliser normaliser = Normaliser::kSoftmax;
};

/// Kept iff word p_j & 3 of Philox 4x32-10 is at least round(rate * 2^32), with the key (seed low,
/// seed high) and the counter (p_j >> 2, p_i, (first_row + b) H + h, offset); kept weights are
/// scaled by 1 / (1 - rate). At rate 1 nothing is kept: out and the gradients through it are 0. The
/// same for every kernel and layout, forward and backward. lse and observed weights are those
/// before dropout.
struct Dropout {
  double rate = 0;  // in [0, 1]
  std::uint64_t seed = 0;
  std::uint32_t offset = 0;    // layer or step
  std::int64_t first_row = 0;  // where these rows begin in the batch that the seed is for
};

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

/// The shape of the scales of i8 values: `shape` with ceil(D / 32) in place of D, the last extent.
Shape scales_shape(Shape shape);

/// i8 with one f32 scale for each 32 consecutive elements of a row: a cache of keys takes a quarter
/// of the memory.
struct Quantised {
  Tensor values;  // i8, of x's shape
  Tensor scales;  // f32, of its scales_shape
};

/// scale = max|x| / 127 of each group of 32 (the last may be shorter), value = x / scale rounded to
/// nearest even, in f32; a group of zeros has scale 0. A group with a NaN or an infinity becomes
/// NaN as a whole: its scale is NaN.
///
/// x of f64, f32, f16 or bf16, of rank 1 or more, any strides; extents may be 0. The same bits for
/// any number of threads.
Quantised quantise(const ConstView& x);

/// value * scale, rounded to f32: what attention reads.
Tensor dequantise(const ConstView& values, const ConstView& scales);

}  // namespace heed
