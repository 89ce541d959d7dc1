// Normalisation of rows.
#pragma once

#include "heed/tensor/tensor.h"

namespace heed {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis, with the biased
/// variance (Ba et al. 2016). f32 or f64, all of one type; x row-major; rows may be 0.
struct LayerNormArgs {
  ConstView x = {};       // [..., C]
  ConstView weight = {};  // [C]
  ConstView bias = {};    // [C]
  double epsilon = 1e-5;
};

Tensor layer_norm(const LayerNormArgs& args);

/// Gives dx and *adds* to dweight [C] and dbias [C], rows in blocks of a fixed order: the same bits
/// for any number of threads. Statistics are recomputed from x, nothing else is kept.
struct LayerNormGrads {
  View dweight = {};
  View dbias = {};
};
Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to);

}  // namespace heed
