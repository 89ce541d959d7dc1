#include <algorithm>
#include <cmath>

#include "heed/error.h"
#include "ops/elementwise.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/reference/operators.h"

namespace heed {
namespace {

template <typename T>
kernels::DropoutProblem<T> problem_of(const View& x, const ElementDropout& args) {
  const double threshold = std::min(std::nearbyint(args.rate * 0x1p32), 0x1p32 - 1);
  return {.x = x.data<T>(),
          .count = x.element_count(),
          .first = args.first,
          .key = philox_key(args.seed),
          .site = args.site,
          .threshold = static_cast<std::uint32_t>(threshold),
          .scale = 1 / (1 - args.rate)};
}

}  // namespace

void dropout(const View& x, const ElementDropout& args) {
  if (!(args.rate >= 0 && args.rate < 1))
    fail("dropout", "rate", args.rate, "0 or more and below 1");
  if (args.first < 0) fail("dropout", "first", args.first, "0 or more");
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64)
    fail("dropout", "x", name(x.dtype()), "f32 or f64");
  if (!x.is_contiguous()) fail("dropout", "x.strides", to_string(x.strides()), "row-major memory");
  if (x.dtype() == DType::kF64) return kernels::reference::dropout(problem_of<double>(x, args));
  kernels::cpu::dropout(problem_of<float>(x, args));
}

}  // namespace heed
