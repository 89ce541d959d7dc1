// Rotary positions of a model's queries and keys, and how models scale them for longer texts.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "heed/operators.h"
#include "heed/tensor.h"

namespace heed {

enum class RopeScalingKind : std::uint8_t {
  kNone,          // base^(-2 n / R) (Su et al. 2021)
  kLinear,        // all divided by the factor (Chen et al. 2023)
  kDynamic,       // a base that grows with the text ("dynamic NTK"; Peng et al. 2023, section 3.4)
  kLlama3,        // slow pairs divided, fast ones kept, between them a ramp by wave length
  kYarn,          // a ramp by pair, and longer queries and keys (Peng et al. 2023)
  kLong,          // a factor per pair, different in long texts (Ding et al. 2024)
  kProportional,  // only the first pairs rotate, at the pace that they have in whole heads
};

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  std::int64_t width = 0;  // R: rotated elements of a row, even
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;
  double factor = 1;
  std::int64_t trained_positions = 0;  // length of the original training texts
  double low_frequency_factor = 1;     // llama3
  double high_frequency_factor = 4;
  double beta_fast = 32;  // yarn
  double beta_slow = 1;
  bool rounded_ramp = true;                // yarn: the ramp begins and ends at whole pairs
  double length = 1;                       // yarn, long: factor of queries and keys
  std::int64_t turning = 0;                // proportional: how many pairs rotate
  std::vector<double> short_factors = {};  // long: per pair, up to trained_positions
  std::vector<double> long_factors = {};   // beyond them
};

/// Radians per position for each of R / 2 pairs, in a text of `length` tokens.
std::vector<double> rope_frequencies(const RopeScaling& scaling, std::int64_t length);

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
