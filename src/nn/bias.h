// A vector added to every row.
#pragma once

#include <string>
#include <vector>

#include "heed/model.h"
#include "ops/elementwise.h"

namespace heed {

class Bias {
 public:
  /// One parameter `name` of `shape` ([V], or [1, V] in some files), not initialised.
  Bias(const std::string& name, const Shape& shape)
      : bias_{.name = name, .value = Tensor::empty(shape), .decays = false} {}

  /// In the memory of x [..., V].
  Tensor forward(Tensor x) const { return add_row(std::move(x), row(bias_.value)); }
  /// dx is dy.
  void backward(const Tensor& dy, Gradients& gradients) const {
    add_column_sums(row(gradients.of(bias_)), dy);
  }
  void collect(std::vector<Parameter*>& into) { into.push_back(&bias_); }

 private:
  static ConstView row(const Tensor& all) { return all.view().reshape({all.element_count()}); }
  static View row(Tensor& all) { return all.view().reshape({all.element_count()}); }

  Parameter bias_;
};

}  // namespace heed
