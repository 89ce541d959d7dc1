#include "ops/embedding.h"

#include <fmt/format.h>

#include <vector>

#include "base/blocks.h"
#include "heed/base/error.h"
#include "kernels/embedding.h"
#include "kernels/reference/embedding.h"
#include "tensor/shape_text.h"
#include "tensor/view_text.h"

namespace heed {
namespace {

Shape with_width(const Shape& shape, std::int64_t width) {
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  dims.push_back(width);
  if (dims.size() > kMaxRank)
    fail("embedding", "ids.shape", to_string(shape),
         fmt::format("a rank of at most {}", kMaxRank - 1));
  return Shape(dims);
}

void check_ids(const ConstView& ids, std::int64_t rows) {
  if (ids.dtype() != DType::kI32 || !ids.is_contiguous())
    fail("embedding", "ids", to_string(ids), "i32, row-major");
  const auto* id = ids.data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    if (0 > id[i] || id[i] >= rows)
      fail("embedding", fmt::format("ids[{}]", i), id[i], fmt::format("0 to {}", rows - 1));
}

void check(const ConstView& table, const ConstView& ids) {
  if (table.rank() != 2 || !table.is_contiguous())
    fail("embedding", "table.shape", to_string(table.shape()), "a row-major matrix");
  if (table.dtype() != DType::kF32 && table.dtype() != DType::kF64)
    fail("embedding", "table", name(table.dtype()), "f32 or f64");
  check_ids(ids, table.dim(0));
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

Tensor embedding(const PackedMatrix& table, const ConstView& ids) {
  check_ids(ids, table.columns());
  Tensor out = Tensor::empty(with_width(ids.shape(), table.inner()));
  const auto* id = ids.data<std::int32_t>();
  for_rows(ids.element_count(), [&](std::int64_t i) {
    table.copy_column(id[i], out.data<float>() + i * table.inner());
  });
  return out;
}

void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable) {
  check(dtable, ids);
  const std::int64_t width = dtable.dim(1);
  if (dy.shape() != with_width(ids.shape(), width) || dy.dtype() != dtable.dtype() ||
      !dy.is_contiguous())
    fail("embedding", "dy", to_string(dy),
         fmt::format("{}, row-major", to_string(dtable.dtype(), with_width(ids.shape(), width))));
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
