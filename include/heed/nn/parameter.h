// The parameters of a model, and where their gradients are summed.
#pragma once

#include <string>
#include <unordered_map>

#include "heed/tensor/tensor.h"

namespace heed {

/// A named f32 tensor of a layer. The name is the one in the model file.
struct Parameter {
  std::string name;
  Tensor value;
  bool decays = true;  // weight decay applies (matrices: yes; biases, norms: no)
};

/// The gradient of each parameter, zero until something is added.
class Gradients {
 public:
  /// f32, of the parameter's shape; made on first use.
  Tensor& of(const Parameter& parameter);
  /// Null where nothing was added.
  const Tensor* find(const Parameter& parameter) const;
  /// Sets all to zero and keeps the memory for the next step.
  void clear();

 private:
  std::unordered_map<const Parameter*, Tensor> gradients_;
};

}  // namespace heed
