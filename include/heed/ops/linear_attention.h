// Attention without a softmax: a state of fixed size in the place of all keys.
#pragma once

#include <cstdint>

#include "heed/ops/feature_map.h"
#include "heed/tensor.h"

namespace heed {

/// How token t changes the state S [F, Dv], with f = phi(k_t):
enum class UpdateRule : std::uint8_t {
  kSum,         // S += f v_t^T                      (Katharopoulos et al. 2020, equation 18)
  kGated,       // S = exp(g_t) S + f v_t^T          (Yang et al. 2023)
  kDelta,       // S += beta_t f (v_t - S^T f)^T     (Schlag et al. 2021)
  kGatedDelta,  // S = exp(g_t) S, then as kDelta    (Yang et al. 2024)
};

/// out_t = scale phi(q_t)^T S_t, H % G == 0: query head h reads the state of head h / (H / G).
/// These are the rules of ONNX's LinearAttention.
///
/// Types: f64, f32, f16 or bf16, computed in f32 (f64 for f64), rounded once; the state is never
/// rounded. Any strides; B, H, T, Dv may be 0. Time T F Dv and memory F Dv a head, whatever T: T
/// may be 1 again and again (the recurrent step), with `state` the one that the last call gave.
/// The same bits for any number of threads.
struct LinearAttentionArgs {
  ConstView q = {};      // [B, H, Tq, D]
  ConstView k = {};      // [B, G, T, D]
  ConstView v = {};      // [B, G, T, Dv]
  ConstView state = {};  // before the first token, of any floating type; not given: 0
  ConstView decay = {};  // g, log of the factor: [B, G, T, F] or [B, G, T, 1]
  ConstView beta = {};   // [B, G, T] or [B, 1, T]
  UpdateRule rule = UpdateRule::kSum;
  FeatureMap features = {};  // of q and k
  double scale = 1;
  bool causal = true;  // false: every query sees the last state, and Tq may differ from T

  /// out_t / (phi(q_t)^T z_t), z the sum of f (decayed as S): the weights sum to 1; 0 where the
  /// denominator is 0. The state then is [F, Dv + 1], z its last column. Not with the delta rules.
  bool normalised = false;
};

struct LinearAttended {
  Tensor out;    // [B, H, Tq, Dv], in q's type
  Tensor state;  // [B, G, F, Dv] after the last token, f32 (f64 for f64)
};

LinearAttended linear_attention(const LinearAttentionArgs& args);

struct LinearAttentionGrads {
  Tensor dq;
  Tensor dk;
  Tensor dv;
  Tensor dstate;  // of the state before the first token, [B, G, F, Dv]
};

/// Gradients of the rule kSum for the cotangents dout and dstate (of the state that was given back;
/// not given: 0). States are recomputed in one pass forward and one backward, so memory stays F Dv
/// a head. Other rules are refused with kUnsupported.
LinearAttentionGrads linear_attention_backward(const LinearAttentionArgs& args,
                                               const ConstView& dout, const ConstView& dstate = {});

}  // namespace heed
