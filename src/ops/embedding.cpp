#include "ops/embedding.h"

#include <vector>

#include "heed/base/error.h"
#include "kernels/embedding.h"
#include "kernels/reference/embedding.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

Shape with_width(const Shape& shape, std::int64_t width) {
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  dims.push_back(width);
  require(dims.size() <= kMaxRank, "embedding: ids have rank {}, expected at most {}", shape.rank(),
          kMaxRank - 1);
  return Shape(dims);
}

void check(const ConstView& table, const ConstView& ids) {
  require(table.rank() == 2 && table.is_contiguous(),
          "embedding: table is {}, expected a row-major matrix", table.shape());
  require(table.dtype() == DType::kF32 || table.dtype() == DType::kF64,
          "embedding: table is {}, expected f32 or f64", name(table.dtype()));
  require(ids.dtype() == DType::kI32 && ids.is_contiguous(),
          "embedding: ids are {}, expected i32, row-major", name(ids.dtype()));
  const auto* id = ids.data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    require(0 <= id[i] && id[i] < table.dim(0),
            "embedding: id {} at place {} is outside of the vocabulary, expected 0 to {}", id[i], i,
            table.dim(0) - 1);
}

}  // namespace

Tensor embedding(const ConstView& table, const ConstView& ids) {
  check(table, ids);
  const std::int64_t width = table.dim(1);
  Tensor out = Tensor::empty(with_width(ids.shape(), width), table.dtype());
  const auto* id = ids.data<std::int32_t>();
  const std::int64_t count = ids.element_count();
  if (table.dtype() == DType::kF64) {
    kernels::reference::embedding(table.data<double>(), width, id, count, out.data<double>());
  } else {
    kernels::cpu::embedding(table.data<float>(), width, id, count, out.data<float>());
  }
  return out;
}

void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable) {
  check(dtable, ids);
  const std::int64_t width = dtable.dim(1);
  require(dy.shape() == with_width(ids.shape(), width) && dy.dtype() == dtable.dtype() &&
              dy.is_contiguous(),
          "embedding: dy is {} {}, expected {} {}, row-major", name(dy.dtype()), dy.shape(),
          name(dtable.dtype()), with_width(ids.shape(), width));
  const auto* id = ids.data<std::int32_t>();
  const std::int64_t count = ids.element_count();
  if (dtable.dtype() == DType::kF64) {
    kernels::reference::embedding_backward(id, count, dy.data<double>(), width,
                                           dtable.data<double>());
  } else {
    kernels::cpu::embedding_backward(id, count, dy.data<float>(), width, dtable.data<float>());
  }
}

}  // namespace heed
