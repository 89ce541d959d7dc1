// Layer normalisation with a learned scale and shift.
#pragma once

#include <string>
#include <vector>

#include "heed/nn/parameter.h"
#include "heed/nn/run.h"
#include "nn/norm_numbers.h"

namespace heed {

class LayerNorm {
 public:
  /// Parameters `name`.weight and `name`.bias [width], not initialised.
  LayerNorm(const std::string& name, std::int64_t width, double epsilon);

  Tensor forward(const Tensor& x, Run& run) const;
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  NormNumbers numbers() const {
    return {.centred = true, .weight = weight_.value, .bias = bias_.value, .epsilon = epsilon_};
  }
  void collect(std::vector<Parameter*>& into);

 private:
  Parameter weight_;
  Parameter bias_;
  double epsilon_;
};

}  // namespace heed
