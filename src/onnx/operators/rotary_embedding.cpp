// RotaryEmbedding, opset 23: the angles are always given.
#include <fmt/format.h>

#include "heed/error.h"
#include "heed/ops/rope.h"
#include "onnx/operators/heads.h"

namespace heed::onnx {

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
  std::vector<Tensor> outputs;
  outputs.push_back(packed_heads(rope(args), x.rank() == 3));
  return outputs;
}

}  // namespace heed::onnx
