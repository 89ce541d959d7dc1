// The rotation angle per position for each pair of a rotary embedding, and how models scale it for
// longer texts.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/operators.h"

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

}  // namespace heed
