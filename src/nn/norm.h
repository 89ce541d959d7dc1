// Normalisation of rows: layer normalisation (Ba et al. 2016) or division by the root of the mean
// square (Zhang & Sennrich 2019), with a learned scale and shift.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/nn/run.h"

namespace heed {

struct NormShape {
  std::int64_t width = 0;
  double epsilon = 1e-5;
  bool centred = true;  // layer normalisation; else by the root of the mean square
  bool weight = true;   // a learned scale; else 1
  bool bias = true;     // a learned shift, of a centred norm; else 0
  double offset = 0;    // the scale is weight + offset
  double factor = 0;    // not 0: rows are multiplied by it alone, and `centred` is false
};

/// The numbers of a norm, with which a caller follows one part of a sum through it at a fixed
/// scale: y = (x - mean) / deviation * (weight + offset) + bias; without `centred` the root of the
/// mean square in place of the deviation, and no mean; with `factor` y = factor * x.
struct NormNumbers {
  bool centred = false;
  ConstView weight = {};  // not given: 1
  ConstView bias = {};    // not given: 0
  double epsilon = 0;
  double offset = 0;
  double factor = 0;
};

class Norm {
 public:
  /// Parameters `name`.weight and `name`.bias [width], not initialised.
  Norm(const std::string& name, const NormShape& shape);
  /// Another norm with the same parameters, which `collect` names once: in the first.
  Norm shared() const;

  Tensor forward(const Tensor& x, Run& run) const;
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  NormNumbers numbers() const;
  std::int64_t width() const { return shape_.width; }
  void collect(std::vector<Parameter*>& into);

 private:
  Tensor scale(DType dtype) const;
  Tensor shift(DType dtype) const;

  NormShape shape_;
  std::shared_ptr<Parameter> weight_, bias_;  // null: not learned
  bool is_first_ = true;                      // of those that share the parameters
};

}  // namespace heed
