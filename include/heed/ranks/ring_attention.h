// Attention over a text that is cut over several ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/attention.h"
#include "heed/ranks/ranks.h"

namespace heed {

/// How the text's tokens lie over the ranks.
enum class RingSplit : std::uint8_t {
  kContiguous,  // rank r of p holds part r of p: under a causal mask the last rank does the most
  kZigzag,      // parts r and 2 p - 1 - r of 2 p: under a causal mask all do the same
};

/// Tokens [begin, end) of the whole text.
struct RingPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What rank `rank` of `count` holds of `length` tokens, in the order in which it holds them.
std::vector<RingPart> ring_parts(RingSplit split, std::int64_t length, int rank, int count);

/// Self-attention of `length` tokens, of which this rank holds its `ring_parts`, side by side:
/// `local` has q [B, H, T, D], k and v [B, G, T, D] of the T tokens here. All else in it (mask,
/// bias, slopes, sink, dropout, scale) is as for the whole text, [B, H, length, length], the same
/// on every rank. No extents, pages, rings or scales of keys.
struct RingAttentionArgs {
  AttentionArgs local = {};
  std::int64_t length = 0;
  RingSplit split = RingSplit::kZigzag;
};

/// out [B, H, T, Dv] and lse [B, H, T] of this rank's rows, as attention over the whole text gives
/// them, within rounding (Liu, Zaharia & Abbeel 2023): keys and values go around the ring while
/// each rank computes with those it has, and the parts are joined by `merge`. A rank holds two
/// ranks' keys and values at a time and no T x T. Parts that the mask leaves empty are not
/// computed. Of 16 bit, parts are joined in f32 and rounded once.
///
/// Every rank calls it with arguments that fit together, or all of them get the same error.
Attended ring_attention(Ranks& ranks, const RingAttentionArgs& args);

/// dq, dk and dv of this rank's tokens for the cotangent `dout` of its rows; dsink is the whole
/// text's, on every rank. dbias, dslope, dscale and dlse are not served. Gradients of keys go
/// around the ring with them and come home: added up in f32 in the order of the ring, the same bits
/// in every run.
AttentionGrads ring_attention_backward(Ranks& ranks, const RingAttentionArgs& args,
                                       const Attended& attended, const ConstView& dout,
                                       const AttentionGradRequest& request = {});

}  // namespace heed
