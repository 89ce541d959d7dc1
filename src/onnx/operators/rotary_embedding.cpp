// RotaryEmbedding, opset 23 (the angles are always given), and the layout of heads.

#include <fmt/format.h>

#include "heed/error.h"
#include "heed/operators.h"
#include "onnx/operators.h"

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

std::vector<Tensor> rotary_embedding(const NodeCall& call) {
  const ConstView x = call.required(0, "X");
  const RopeArgs args = {
      .x = with_heads(x, call.integer("num_heads", 0), "X"),
      .rotary_dim = call.integer("rotary_embedding_dim", 0),
      .pairs = call.integer("interleaved", 0) != 0 ? RopePairs::kNeighbours : RopePairs::kHalves,
      .positions = call.input(3),
      .cosines = call.required(1, "cos_cache"),
      .sines = call.required(2, "sin_cache")};
  if (!args.positions.given() && args.cosines.rank() != 3)
    fail("RotaryEmbedding", "cos_cache.shape", to_string(args.cosines.shape()),
         "three axes (position_ids are absent)");
  return outputs_of(packed_heads(rope(args), x.rank() == 3));
}

}  // namespace heed::onnx
