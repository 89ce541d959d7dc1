// Look-up tables for tokens, and the fixed positions of the original Transformer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "heed/tensor.h"

namespace heed {

class Embedding {
 public:
  /// One parameter, `name`.weight [rows, width], not initialised.
  Embedding(const std::string& name, std::int64_t rows, std::int64_t width);
  /// Uses a table that another layer owns too.
  explicit Embedding(std::shared_ptr<Parameter> table) : table_(std::move(table)) {}

  Tensor forward(const ConstView& ids) const;  // [...] i32 -> [..., width]
  void backward(const ConstView& ids, const Tensor& dy, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into) { into.push_back(table_.get()); }
  /// For a head that shares it.
  const std::shared_ptr<Parameter>& table() const { return table_; }

 private:
  std::shared_ptr<Parameter> table_;
};

struct SinusoidShape {
  std::int64_t width = 0;
  bool reaches_base = false;  // the last frequency is 1/10000, as in tensor2tensor; needs 4 columns
  std::int64_t zero = -1;     // the position whose row is zero
};

/// [B, T, width] of `dtype` for positions [B, T] i32: sin(p f_i) in the first half of a row and
/// cos(p f_i) in the second, f_i = 10000^(-2 i / width) (Vaswani et al. 2017, section 3.5, but
/// sines and cosines are not interleaved). With `reaches_base` f_i = 10000^(-i / (width / 2 - 1)),
/// and the last column of an odd width is 0.
Tensor sinusoids(const ConstView& positions, const SinusoidShape& shape, DType dtype);

}  // namespace heed
