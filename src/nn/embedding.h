// Ids to vectors.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/nn/parameter.h"
#include "heed/nn/run.h"

namespace heed {

class Embedding {
 public:
  /// One parameter, `name`.weight [rows, width], not initialised.
  Embedding(const std::string& name, std::int64_t rows, std::int64_t width);
  /// Over a table that another layer owns too.
  explicit Embedding(std::shared_ptr<Parameter> table) : table_(std::move(table)) {}

  Tensor forward(const ConstView& ids) const;  // [...] i32 -> [..., width]
  void backward(const ConstView& ids, const Tensor& dy, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into) { into.push_back(table_.get()); }
  /// For a head that shares it.
  const std::shared_ptr<Parameter>& table() const { return table_; }

 private:
  std::shared_ptr<Parameter> table_;
};

}  // namespace heed
