#include "ops/packed_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "ops/kernels/matmul.h"
#include "tensor/text.h"

namespace heed {
namespace {

kernels::Panels panels_of(const PackedMatrix& matrix) {
  return {.data = matrix.data(),
          .dtype = matrix.dtype(),
          .inner = matrix.inner(),
          .columns = matrix.columns(),
          .blocks = matrix.blocks()};
}

void check(const PackedMatmulArgs& args, const View& out) {
  const auto& [a, b, bias, in_bulk] = args;
  if (a.rank() != 2 || a.dtype() != DType::kF32 || a.dim(1) != b.inner())
    fail("matmul", "a", to_string(a), fmt::format("f32 [rows, {}] (b's rows)", b.inner()));
  if (a.dim(1) > 1 && a.stride(1) != 1)
    fail("matmul", "a.strides", to_string(a.strides()), "contiguous rows");
  if (bias.given() && (bias.shape() != Shape{b.columns()} || bias.dtype() != DType::kF32))
    fail("matmul", "bias", to_string(bias), to_string(DType::kF32, {b.columns()}));
  if (out.shape() != Shape({a.dim(0), b.columns()}) || out.dtype() != DType::kF32)
    fail("matmul", "out", to_string(out), to_string(DType::kF32, {a.dim(0), b.columns()}));
  if (out.dim(1) > 1 && out.stride(1) != 1)
    fail("matmul", "out.strides", to_string(out.strides()), "contiguous rows");
}

}  // namespace

PackedMatrix::PackedMatrix(const ConstView& b) {
  const DType dtype = b.dtype();
  const bool has_form = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  if (b.rank() != 2 || b.element_count() == 0 || !has_form)
    fail("packed_matrix", "b", to_string(b), "a matrix of f32, f16 or bf16 that is not empty");
  inner_ = b.dim(0);
  columns_ = b.dim(1);
  dtype_ = dtype;
  panels_ = Tensor::empty({packed_bytes() / static_cast<std::int64_t>(size_bytes(dtype))}, dtype);
  kernels::pack_panels(b.raw(), b.stride(0), b.stride(1), panels_of(*this), panels_.view().raw());
}

PackedMatrix::PackedMatrix(const BlockType& type, const ConstView& rows) : blocks_(&type) {
  if (rows.rank() != 2 || rows.element_count() == 0 || rows.dtype() != DType::kU8 ||
      !rows.is_contiguous() || rows.dim(1) % type.bytes != 0)
    fail("packed_matrix", "rows", to_string(rows),
         fmt::format("u8 rows of whole blocks of {} bytes", type.bytes));
  inner_ = rows.dim(1) / type.bytes * type.elements;
  columns_ = rows.dim(0);
  panels_ = Tensor::empty({packed_bytes()}, DType::kU8);
  kernels::pack_blocks(rows.raw(), panels_of(*this), panels_.view().raw());
}

PackedMatrix::PackedMatrix(Streamed streamed)
    : inner_(streamed.inner),
      columns_(streamed.columns),
      dtype_(streamed.dtype),
      blocks_(streamed.blocks),
      read_(std::move(streamed.read)) {}

std::int64_t PackedMatrix::packed_bytes() const {
  return kernels::panel_bytes(
      {.dtype = dtype(), .inner = inner_, .columns = columns_, .blocks = blocks_});
}

PackedMatrix PackedMatrix::held() const {
  PackedMatrix same =
      is_streamed() ? read_() : PackedMatrix(Streamed{inner_, columns_, dtype_, blocks_});
  if (!is_streamed()) same.panels_ = panels_.share();
  same.by_bytes_ = by_bytes_;
  return same;
}

PackedMatrix PackedMatrix::multiplied_by_bytes() const {
  if (blocks_ == nullptr)
    fail("packed_matrix", "matrix", name(dtype_), "quantised blocks, to be multiplied by bytes");
  PackedMatrix same(Streamed{inner_, columns_, dtype_, blocks_, read_});
  if (!is_streamed()) same.panels_ = panels_.share();
  same.by_bytes_ = true;
  return same;
}

void PackedMatrix::copy_column(std::int64_t index, float* to) const {
  if (is_streamed()) return read_().copy_column(index, to);
  kernels::unpack_column(panels_of(*this), index, to);
}

bool packing_pays(DType dtype) { return dtype != DType::kF32 || !kernels::has_amx(); }

void matmul(std::span<const PackedMatmulArgs> products, std::span<const View> outs) {
  std::vector<kernels::PanelsProblem> problems;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const auto& [a, b, bias, in_bulk] = products[i];
    const View& out = outs[i];
    check(products[i], out);
    if (out.element_count() == 0) continue;
    if (b.is_streamed()) {
      const PackedMatrix held = b.held();
      matmul({.a = a, .b = held, .bias = bias, .in_bulk = in_bulk}, out);
      continue;
    }
    problems.push_back({.rows = out.dim(0),
                        .a = a.data<float>(),
                        .a_row = std::max(a.stride(0), a.dim(1)),
                        .b = panels_of(b),
                        .bias = bias.given() ? bias.data<float>() : nullptr,
                        .out = out.data<float>(),
                        .out_row = std::max(out.stride(0), out.dim(1)),
                        .by_bytes = b.by_bytes()});
    if (in_bulk && b.dtype() == DType::kBF16 && kernels::has_fast_pairs()) {
      kernels::matmul_pairs(problems.back());
      problems.pop_back();
    }
  }
  kernels::matmul_panels(problems);
}

void matmul(const PackedMatmulArgs& args, const View& out) { matmul({&args, 1}, {&out, 1}); }

}  // namespace heed
