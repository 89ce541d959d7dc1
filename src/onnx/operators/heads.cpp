#include "onnx/operators/heads.h"

#include "heed/base/error.h"

namespace heed::onnx {

ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what) {
  require(x.rank() == 3 || x.rank() == 4, "{} is {}: three or four axes are expected", what,
          to_string(x.shape()));
  if (x.rank() == 4) return x;
  require(heads > 0 && x.dim(2) % heads == 0, "{} is {}, which cannot be cut into {} heads", what,
          to_string(x.shape()), heads);
  return x.reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}).permute({0, 2, 1, 3});
}

Tensor packed_heads(Tensor y, bool packed) {
  if (!packed) return y;
  const Shape shape = {y.dim(0), y.dim(2), y.dim(1) * y.dim(3)};
  return Tensor::copy_of(y.view().permute({0, 2, 1, 3})).reshaped(shape);
}

}  // namespace heed::onnx
