// y = x W + b.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/model.h"
#include "ops/elementwise.h"

namespace heed {

struct LinearShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
  WeightLayout layout = WeightLayout::kOutIn;
  bool bias = true;
};

/// Copies share the parameters.
class Linear {
 public:
  /// Parameters `name`.weight and `name`.bias, not initialised.
  Linear(const std::string& name, const LinearShape& shape);
  /// Has no bias, and uses a weight that another layer owns too (a tied head).
  Linear(std::shared_ptr<Parameter> weight, WeightLayout layout);

  Tensor forward(const Tensor& x, Run& run) const;  // [..., in] -> [..., out]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  /// forward() of several layers with the same input. Few rows times packed weights share one
  /// parallel loop, as in text generation.
  static std::vector<Tensor> forward_each(std::span<const Linear* const> layers, const Tensor& x,
                                          Run& run);

  /// The same without keeping x, for a layer that can recompute x.
  Tensor apply(const Tensor& x, const Run& run) const;
  /// Without the bias, for parts of a sum.
  Tensor product(const Tensor& x, const Run& run) const;
  /// A copy of the weight as [out, in] f32, whatever its stored form.
  Tensor rows_of_weight() const;
  /// The same layer with its weight in memory: for several reads of a streamed one.
  Linear held() const;
  /// Row `index` of that, `in` floats.
  void copy_row_of_weight(std::int64_t index, float* to) const;
  std::int64_t outputs() const;
  ConstView bias() const { return bias_ ? bias_->value.view() : ConstView(); }
  Tensor input_gradient(const Tensor& dy, const Run& run) const;
  void add_weight_gradients(const Tensor& x, const Tensor& dy, const Run& run,
                            Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  Tensor apply(const Tensor& x, const ConstView& bias, const Run& run) const;
  Tensor output_for(const Tensor& x) const;
  ConstView in_out() const;  // the weight as [in, out]

  std::shared_ptr<Parameter> weight_;
  std::shared_ptr<Parameter> bias_;  // null: none
  WeightLayout layout_;
};

/// A vector added to every row.
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
