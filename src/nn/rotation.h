// Rotary positions of a model's queries and keys.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "heed/tensor.h"
#include "nn/rope_scaling.h"

namespace heed {

/// Where the tokens of a pass stand, one entry a row.
struct Standing {
  std::vector<std::int64_t> first = {};   // position of the first token
  std::vector<std::int64_t> length = {};  // tokens of the whole text
};

/// Angles are kept by position, and more of them made as texts grow; several threads may turn at
/// once.
class Rotation {
 public:
  explicit Rotation(const RopeScaling& scaling) : scaling_(scaling) {}

  /// Scaling by the text's length turns a key anew when the text grows, so a cache keeps keys as
  /// they were before the rotation.
  bool depends_on_length() const {
    return scaling_.kind == RopeScalingKind::kDynamic || scaling_.kind == RopeScalingKind::kLong;
  }
  const RopeScaling& scaling() const { return scaling_; }
  /// Texts of which lengths have the same angles: those of equal numbers.
  std::int64_t angles_by(std::int64_t length) const;

  /// Turns x [B, H, T, D], f32 or f64, in place.
  void turn(const View& x, const Standing& standing) const;
  /// The gradient of the same, in place.
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
  mutable std::shared_ptr<const Table> tables_[2][2];  // f32 and f64, short and long: the last ones
};

}  // namespace heed
