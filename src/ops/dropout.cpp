#include "ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "kernels/dropout.h"
#include "kernels/reference/dropout.h"

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
  require(args.rate >= 0 && args.rate < 1, "dropout: rate is {}, expected 0 or more and below 1",
          args.rate);
  require(args.first >= 0, "dropout: first is {}, expected 0 or more", args.first);
  require(x.dtype() == DType::kF32 || x.dtype() == DType::kF64,
          "dropout: x is {}, expected f32 or f64", name(x.dtype()));
  require(x.is_contiguous(), "dropout: x is strided, expected row-major");
  if (x.dtype() == DType::kF64) return kernels::reference::dropout(problem_of<double>(x, args));
  kernels::cpu::dropout(problem_of<float>(x, args));
}

}  // namespace heed
