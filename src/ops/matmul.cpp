#include "ops/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "heed/error.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/reference/operators.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const MatmulArgs& args, const View& out) {
  const auto& [a, b, bias, accumulate, in_bulk, bf16] = args;
  if (a.rank() != 2 || b.rank() != 2)
    fail("matmul", a.rank() != 2 ? "a.shape" : "b.shape",
         to_string(a.rank() != 2 ? a.shape() : b.shape()), "a matrix");
  if (a.dim(1) != b.dim(0))
    fail("matmul", "b.shape[0]", b.dim(0), fmt::format("{} (a.shape[1])", a.dim(1)));
  if (a.dtype() != DType::kF32 && a.dtype() != DType::kF64)
    fail("matmul", "a", name(a.dtype()), "f32 or f64");
  if (b.dtype() != a.dtype())
    fail("matmul", "b", name(b.dtype()), fmt::format("{} (a's type)", name(a.dtype())));
  if (bias.given() && (bias.shape() != Shape{b.dim(1)} || bias.dtype() != a.dtype()))
    fail("matmul", "bias", to_string(bias), to_string(a.dtype(), {b.dim(1)}));
  if (out.shape() != Shape({a.dim(0), b.dim(1)}) || out.dtype() != a.dtype())
    fail("matmul", "out", to_string(out), to_string(a.dtype(), {a.dim(0), b.dim(1)}));
  if (out.dim(1) > 1 && out.stride(1) != 1)
    fail("matmul", "out.strides", to_string(out.strides()), "contiguous rows");
}

// An axis with one element may have any stride: uses the one that makes the other fast.
template <typename T>
kernels::MatrixOperand<T> operand(const ConstView& view) {
  return {.data = view.data<T>(),
          .row = view.dim(0) == 1 ? view.dim(1) : view.stride(0),
          .column = view.dim(1) == 1 ? 1 : view.stride(1)};
}

template <typename T>
void run(const MatmulArgs& args, const View& out) {
  const kernels::MatmulProblem<T> problem = {
      .rows = out.dim(0),
      .columns = out.dim(1),
      .inner = args.a.dim(1),
      .a = operand<T>(args.a),
      .b = operand<T>(args.b),
      .bias = args.bias.given() ? args.bias.data<T>() : nullptr,
      .out = out.data<T>(),
      .out_row = std::max(out.stride(0), out.dim(1)),
      .accumulate = args.accumulate,
      .bf16 = args.bf16,
  };
  if constexpr (std::is_same_v<T, float>) {
    if (args.in_bulk && kernels::matmul_amx(problem)) return;
    if (args.bf16 && problem.inner > 0 && kernels::has_fast_pairs())
      return kernels::matmul_pairs(problem);
    if (problem.inner > 0) return kernels::matmul_f32(problem);
  }
  kernels::reference::matmul(problem);
}

}  // namespace

bool bf16_pays() { return kernels::has_amx() || kernels::has_fast_pairs(); }

void matmul(const MatmulArgs& args, const View& out) {
  check(args, out);
  if (out.element_count() == 0) return;
  args.a.dtype() == DType::kF64 ? run<double>(args, out) : run<float>(args, out);
}

Tensor matmul(const MatmulArgs& args) {
  if (args.accumulate) fail("matmul", "accumulate", "true", "false (there is no memory to add to)");
  if (args.a.rank() != 2 || args.b.rank() != 2)
    fail("matmul", args.a.rank() != 2 ? "a.shape" : "b.shape",
         to_string(args.a.rank() != 2 ? args.a.shape() : args.b.shape()), "a matrix");
  Tensor out = Tensor::empty({args.a.dim(0), args.b.dim(1)}, args.a.dtype());
  matmul(args, out);
  return out;
}

}  // namespace heed
