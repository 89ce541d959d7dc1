// How a score becomes a weight (operator: attention.h).
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor/view.h"

namespace heed {

enum class Similarity : std::uint8_t { kDot, kCosine, kGaussian, kAbsolute };
enum class Normaliser : std::uint8_t { kSoftmax, kSigmoid, kNone };

/// In this order: z = scale * sim(q, k); z = softcap * tanh(z / softcap); z += bias + alibi; mask;
/// normalise. Served today: similarity dot, scale, softmax. Everything else is refused with
/// kUnsupported.
struct Scores {
  /// Empty: 1 / sqrt(D) for dot and 1 otherwise; one number; or one per head.
  std::vector<double> scale = {};
  Similarity similarity = Similarity::kDot;
  double softcap = 0;    // 0: none
  ConstView bias = {};   // broadcast to [B, H, Tq, Tk]; -inf masks
  ConstView alibi = {};  // slopes [H]: z -= slope * |p_i - p_j|
  ConstView sink = {};   // a logit per head [H] in the softmax's denominator
  Normaliser normaliser = Normaliser::kSoftmax;
};

/// Kept iff the Philox word of (p_i, p_j, b H + h, offset) is at least round(rate * 2^32); kept
/// weights are scaled by 1 / (1 - rate). Refused today with kUnsupported.
struct Dropout {
  double rate = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  std::uint32_t offset = 0;  // layer or step
};

}  // namespace heed
