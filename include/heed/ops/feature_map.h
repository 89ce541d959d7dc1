// Feature maps of linear attention: phi with phi(q) . phi(k) in the place of exp(q . k).
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

enum class FeatureKind : std::uint8_t {
  kIdentity,
  kEluPlusOne,  // x + 1 above 0, exp(x) below (Katharopoulos et al. 2020, equation 7)
  kRelu,
  kRandomExponential,  // exp(w_m . x - |x|^2 / 2) / sqrt(M): phi(q) . phi(k) is exp(q . k) in
                       // expectation over normal w (Choromanski et al. 2021, lemma 1)
};

struct FeatureMap {
  FeatureKind kind = FeatureKind::kIdentity;
  double scale = 1;           // x is multiplied by it first; D^(-1/4) for softmax's 1 / sqrt(D)
  ConstView projection = {};  // [M, D] for kRandomExponential: the w_m

  /// Features that a row of `width` elements becomes.
  std::int64_t features(std::int64_t width) const;
};

/// phi of every row: [..., D] -> [..., D], or [..., M] for kRandomExponential. f32 or f64 (16-bit
/// types give f32), any strides; row-major.
Tensor map_features(const ConstView& x, const FeatureMap& map);

/// dx [..., D] for the cotangent dphi of the features.
Tensor map_features_backward(const ConstView& x, const FeatureMap& map, const ConstView& dphi);

/// Normal rows [M, D], orthogonal within each block of D (lower variance, section 3 there), from
/// Philox: the same for the same seed everywhere.
Tensor random_projection(std::int64_t features, std::int64_t width, std::uint64_t seed,
                         DType dtype = DType::kF32);

}  // namespace heed
