#include "nn/embedding.h"

#include "ops/embedding.h"

namespace heed {

Embedding::Embedding(const std::string& name, std::int64_t rows, std::int64_t width)
    : table_(std::make_shared<Parameter>()) {
  table_->name = name + ".weight";
  table_->value = Tensor::empty({rows, width});
  table_->looked_up = true;
}

Tensor Embedding::forward(const ConstView& ids) const {
  return table_->packed ? embedding(*table_->packed, ids) : embedding(table_->value, ids);
}

void Embedding::backward(const ConstView& ids, const Tensor& dy, Gradients& gradients) const {
  embedding_backward(ids, dy, gradients.of(*table_));
}

}  // namespace heed
