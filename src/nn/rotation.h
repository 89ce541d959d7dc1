// Rotary positions of a model's queries and keys.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "heed/operators.h"
#include "heed/tensor.h"
#include "nn/rope_scaling.h"

namespace heed {

/// The positions of a pass's tokens, one entry per row.
struct Standing {
  std::vector<std::int64_t> first = {};   // position of the first token
  std::vector<std::int64_t> length = {};  // tokens in the whole text
};

/// Angles are cached by position, and extended as texts grow; several threads may rotate at once.
class Rotation {
 public:
  explicit Rotation(const RopeScaling& scaling) : scaling_(scaling) {}

  /// If scaling depends on the text's length, growing texts rotate old keys differently, so a cache
  /// must keep unrotated keys.
  bool depends_on_length() const {
    return scaling_.kind == RopeScalingKind::kDynamic || scaling_.kind == RopeScalingKind::kLong;
  }
  const RopeScaling& scaling() const { return scaling_; }
  /// Texts with equal return values share the same angles.
  std::int64_t angles_by(std::int64_t length) const;

  /// Rotates x [B, H, T, D], f32 or f64, in place.
  void turn(const View& x, const Standing& standing) const;
  /// The gradient of `turn`, in place.
  void turn_back(const View& dy, const Standing& standing) const;

 private:
  struct Table {
    std::int64_t by = 0;  // angles_by
    Tensor cosines;       // [positions, R / 2]
    Tensor sines;
  };
  struct Angles {
    Tensor cosines;  // [B, T, R / 2]
    Tensor sines;
  };
  std::shared_ptr<const Table> table(DType dtype, std::int64_t positions,
                                     std::int64_t length) const;
  Angles angles(const View& x, const Standing& standing) const;
  RopeArgs args_for(const View& x, const Angles& angles) const;

  RopeScaling scaling_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Table> tables_[2][2];  // f32 and f64, short and long; the latest
};

}  // namespace heed
