#include "onnx/operators/heads.h"

#include <fmt/format.h>

#include "heed/error.h"

namespace heed::onnx {

ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what) {
  if (x.rank() != 3 && x.rank() != 4)
    fail("onnx", fmt::format("{}.shape", what), to_string(x.shape()), "three or four axes");
  if (x.rank() == 4) return x;
  if (heads <= 0 || x.dim(2) % heads != 0)
    fail("onnx", fmt::format("{}.shape", what), to_string(x.shape()),
         fmt::format("a last axis that is a multiple of {} (the heads)", heads));
  return x.reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}).permute({0, 2, 1, 3});
}

Tensor packed_heads(Tensor y, bool packed) {
  if (!packed) return y;
  const Shape shape = {y.dim(0), y.dim(2), y.dim(1) * y.dim(3)};
  return Tensor::copy_of(y.view().permute({0, 2, 1, 3})).reshaped(shape);
}

}  // namespace heed::onnx
