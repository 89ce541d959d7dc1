// Normalisation by the root of the mean square, with a learned scale.
#pragma once

#include <string>
#include <vector>

#include "heed/nn/parameter.h"
#include "heed/nn/run.h"
#include "nn/norm_numbers.h"

namespace heed {

class RmsNorm {
 public:
  /// One parameter, `name`.weight [width], not initialised. The scale is weight + offset.
  RmsNorm(const std::string& name, std::int64_t width, double epsilon, double offset = 0);

  Tensor forward(const Tensor& x, Run& run) const;
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  NormNumbers numbers() const {
    return {.weight = weight_.value, .epsilon = epsilon_, .offset = offset_};
  }
  void collect(std::vector<Parameter*>& into);

 private:
  Tensor scale() const;

  Parameter weight_;
  double epsilon_;
  double offset_;
};

}  // namespace heed
