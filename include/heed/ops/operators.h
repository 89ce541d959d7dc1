// Operators used around attention, with their gradients: softmax, norms of rows, rotary positions.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// y = exp(x - max) / sum(exp(x - max)) over `axis` (negative: from the end). f64, f32, f16 or bf16
/// (the 16-bit types computed in f32 and rounded once), any strides, extents may be 0; y is
/// row-major. A line that holds a NaN or +inf, or only -inf, is NaN, as in IEEE arithmetic; for
/// rows without a visible key use `attention`. The bits do not depend on the number of threads.
Tensor softmax(const ConstView& x, int axis = -1);

/// dx = y (dy - sum(y dy)) over `axis`, for y = softmax(x).
Tensor softmax_backward(const ConstView& y, const ConstView& dy, int axis = -1);

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the trailing axes that weight
/// has, with the biased variance (Ba et al. 2016). f64, f32, f16 or bf16, all of one type (the
/// 16-bit types computed in f32 and rounded once), any strides; rows may be 0; y is row-major.
struct LayerNormArgs {
  ConstView x = {};       // [..., C]
  ConstView weight = {};  // [C], or several trailing axes of x
  ConstView bias = {};    // as weight
  double epsilon = 1e-5;
};

Tensor layer_norm(const LayerNormArgs& args);

/// Returns dx and *adds* to dweight and dbias (row-major, weight's shape; f32 for the 16-bit
/// types). Rows are added in blocks of a fixed order, so the bits do not depend on the number of
/// threads. Statistics are recomputed from x; nothing else is kept.
struct LayerNormGrads {
  View dweight = {};
  View dbias = {};
};
Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to);

/// Each row's mean and inverse standard deviation, over the leading axes of x; f32 (f64 for f64).
struct LayerNormStatistics {
  Tensor mean;
  Tensor inverse_deviation;  // 1 / sqrt(variance + epsilon)
};
LayerNormStatistics layer_norm_statistics(const LayerNormArgs& args);

/// y = x / sqrt(mean(x^2) + epsilon) * weight over the trailing axes that weight has (Zhang &
/// Sennrich 2019, equation 4). f64, f32, f16 or bf16, all of one type (the 16-bit types computed in
/// f32 and rounded once), any strides; rows may be 0; y is row-major.
struct RmsNormArgs {
  ConstView x = {};       // [..., C]
  ConstView weight = {};  // [C], or several trailing axes of x
  double epsilon = 1e-5;
};

Tensor rms_norm(const RmsNormArgs& args);

/// Returns dx and *adds* to dweight (row-major, weight's shape; f32 or f64, f32 for the 16-bit
/// types). Rows are added in blocks of a fixed order, so the bits do not depend on the number of
/// threads.
Tensor rms_norm_backward(const RmsNormArgs& args, const ConstView& dy, const View& dweight);

/// Which two of a row's R rotated elements form a pair.
enum class RopePairs : std::uint8_t {
  kHalves,      // n and n + R / 2: GPT-NeoX, Llama as published on the hub
  kNeighbours,  // 2 n and 2 n + 1: the paper, GPT-J
};

/// Pair n of a row at position p is rotated by the angle p base^(-2 n / R) (Su et al. 2021,
/// equation 34): (a, b) -> (a cos - b sin, b cos + a sin). Elements past R are unchanged.
///
/// Types: f64, f32, f16, bf16; computed in f32 (f64 for f64, and always for the angle) and rounded
/// once. Any strides; y is row-major; extents may be 0. The bits do not depend on the number of
/// threads.
struct RopeArgs {
  ConstView x = {};             // [B, H, T, D]
  std::int64_t rotary_dim = 0;  // R, even, at most D; 0: D
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;

  /// Position of the first token: one per batch, one for all, or none (0). Token t has position
  /// offset + t, which may be negative.
  std::vector<std::int64_t> offset = {};
  /// Instead of `offset`, every token's position, i64 or i32, [B, T] or [1, T].
  ConstView positions = {};

  /// The caller's own angles, both of x's type: a table [P, R / 2] by position, or [B, T, R / 2]
  /// for every token, which then has no positions. Default: the angles of `base`.
  ConstView cosines = {};
  ConstView sines = {};
};

Tensor rope(const RopeArgs& args);
/// Writes to the caller's memory, of any strides with contiguous rows; it may be x itself.
void rope(const RopeArgs& args, const View& y);

/// dx for the cotangent dy [B, H, T, D]: the inverse rotation. Only the shape and type of `args.x`
/// are used.
Tensor rope_backward(const RopeArgs& args, const ConstView& dy);
void rope_backward(const RopeArgs& args, const ConstView& dy, const View& dx);

}  // namespace heed
