// How a score becomes a weight (operator: attention.h).
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor/view.h"

namespace heed {

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

}  // namespace heed
