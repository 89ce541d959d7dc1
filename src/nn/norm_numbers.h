// A norm's numbers, for whoever holds its scale still to follow one part of a sum through it.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// y = (x - mean) / deviation * (weight + offset) + bias; without `centred` the root of the mean
/// square in place of the deviation, and no mean.
struct NormNumbers {
  bool centred = false;
  ConstView weight = {};
  ConstView bias = {};  // not given: 0
  double epsilon = 0;
  double offset = 0;
};

}  // namespace heed
