// Normalisation of rows: layer normalisation (Ba et al. 2016) or division by the root mean square
// (Zhang & Sennrich 2019), with a learned scale and shift.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/model.h"

namespace heed {

struct NormShape {
  std::int64_t width = 0;
  double epsilon = 1e-5;
  bool centred = true;     // layer normalisation; else division by the root mean square
  bool weight = true;      // has a learned scale; else 1
  bool bias = true;        // has a learned shift, if centred; else 0
  double offset = 0;       // the scale is weight + offset
  double factor = 0;       // nonzero: rows are only multiplied by it; `centred` is false
  bool is_scalar = false;  // rows are only multiplied by one learned number; `centred` is false
};

/// The numbers of a norm, to apply it to one part of a sum at a fixed scale: y = (x - mean) /
/// deviation * (weight + offset) + bias; without `centred` the root mean square instead of the
/// deviation, and no mean; with `factor` y = factor * x.
struct NormNumbers {
  bool centred = false;
  ConstView weight = {};  // default: 1
  ConstView bias = {};    // default: 0
  double epsilon = 0;
  double offset = 0;
  std::optional<double> factor = {};
};

class Norm {
 public:
  /// Parameters `name`.weight and `name`.bias [width], not initialised; of a learned number `name`
  /// [1].
  Norm(const std::string& name, const NormShape& shape);
  /// Another norm with the same parameters; `collect` lists them only in the first.
  Norm shared() const;

  Tensor forward(const Tensor& x, Run& run) const;
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  NormNumbers numbers() const;
  std::int64_t width() const { return shape_.width; }
  void collect(std::vector<Parameter*>& into);

 private:
  std::optional<double> factor() const;
  Tensor scale(DType dtype) const;
  Tensor shift(DType dtype) const;

  NormShape shape_;
  std::shared_ptr<Parameter> weight_, bias_;  // null: not learned
  bool is_first_ = true;                      // of the norms that share the parameters
};

}  // namespace heed
