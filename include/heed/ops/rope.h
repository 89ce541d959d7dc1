// Rotary position embedding.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// Which two elements of a row form a pair, of the R that turn.
enum class RopePairs : std::uint8_t {
  kHalves,      // n and n + R / 2: GPT-NeoX, Llama as published on the hub
  kNeighbours,  // 2 n and 2 n + 1: the paper, GPT-J
};

/// Pair n of a row at position p turns by the angle p base^(-2 n / R) (Su et al. 2021, equation
/// 34): (a, b) -> (a cos - b sin, b cos + a sin). Elements past R stay.
///
/// Types: f64, f32, f16, bf16; computed in f32 (f64 for f64, and always for the angle) and rounded
/// once. Any strides; y is row-major; extents may be 0. The same bits for any number of threads.
struct RopeArgs {
  ConstView x = {};             // [B, H, T, D]
  std::int64_t rotary_dim = 0;  // R, even, at most D; 0: D
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;

  /// Position of the first token, one for each batch, one for all, or none: 0. Token t stands at
  /// offset + t; may be negative.
  std::vector<std::int64_t> offset = {};
  /// Or every token's position, i64 or i32, [B, T] or [1, T].
  ConstView positions = {};

  /// The caller's own angles, both of x's type: a table [P, R / 2] by position, or [B, T, R / 2] of
  /// every token, which then has no positions. Not given: those of `base`.
  ConstView cosines = {};
  ConstView sines = {};
};

Tensor rope(const RopeArgs& args);
/// The same into memory of the caller, of any strides with contiguous rows; it may be x itself.
void rope(const RopeArgs& args, const View& y);

/// dx for the cotangent dy [B, H, T, D]: the inverse rotation. `args.x` gives its shape and type
/// only.
Tensor rope_backward(const RopeArgs& args, const ConstView& dy);
void rope_backward(const RopeArgs& args, const ConstView& dy, const View& dx);

}  // namespace heed
