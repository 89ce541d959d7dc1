// Normalisation of rows: LayerNorm, and RMSNorm, which has no mean.
#pragma once

#include "heed/tensor.h"

namespace heed {

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

/// Gives dx and *adds* to dweight and dbias (row-major, of weight's shape; f32 for the 16-bit
/// types), rows in blocks of a fixed order: the same bits for any number of threads. Statistics are
/// recomputed from x, nothing else is kept.
struct LayerNormGrads {
  View dweight = {};
  View dbias = {};
};
Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to);

/// Each row's mean and inverse deviation, over the leading axes of x; f32 (f64 for f64).
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

/// Gives dx and *adds* to dweight (row-major, of weight's shape; f32 or f64, f32 for the 16-bit
/// types), rows in blocks of a fixed order: the same bits for any number of threads.
Tensor rms_norm_backward(const RmsNormArgs& args, const ConstView& dy, const View& dweight);

}  // namespace heed
