#include "ops/embedding.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/blocks.h"
#include "heed/error.h"
#include "ops/kernels/reference/operators.h"
#include "ops/kernels/rows.h"
#include "tensor/text.h"

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
  if (!is_floating(table.dtype()))
    fail("embedding", "table", name(table.dtype()), "f32, f64, f16 or bf16");
  check_ids(ids, table.dim(0));
}

// Rows of 16-bit numbers, widened.
Tensor narrow_rows(const ConstView& table, const ConstView& ids) {
  Tensor rows = Tensor::empty(with_width(ids.shape(), table.dim(1)), table.dtype());
  const std::size_t bytes = static_cast<std::size_t>(table.dim(1)) * size_bytes(table.dtype());
  const auto* const from = static_cast<const std::byte*>(table.raw());
  auto* to = static_cast<std::byte*>(rows.view().raw());
  const auto* const id = ids.data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.element_count(); ++i, to += bytes)
    std::memcpy(to, from + static_cast<std::size_t>(id[i]) * bytes, bytes);
  return Tensor::converted(rows, DType::kF32);
}

}  // namespace

Tensor embedding(const ConstView& table, const ConstView& ids) {
  check(table, ids);
  if (size_bytes(table.dtype()) == 2) return narrow_rows(table, ids);
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
  const PackedMatrix held = table.held();
  for_rows(ids.element_count(),
           [&](std::int64_t i) { held.copy_column(id[i], out.data<float>() + i * table.inner()); });
  return out;
}

void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable) {
  check(dtable, ids);
  if (size_bytes(dtable.dtype()) == 2)
    fail("embedding", "dtable", name(dtable.dtype()), "f32 or f64");
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
