// TensorScatter, opset 24: rows written into a cache, for any element type.
#include <fmt/format.h>

#include <cstring>

#include "heed/error.h"
#include "onnx/operators.h"
#include "tensor/text.h"

namespace heed::onnx {
namespace {

// number of `before` per batch
struct Blocks {
  std::int64_t before = 1;
  std::int64_t batch_share = 1;  // of `before`, in one batch
  std::int64_t along = 0;
  std::int64_t bytes = 0;
};

Blocks blocks_of(const ConstView& view, int axis) {
  Blocks blocks = {.along = view.dim(axis),
                   .bytes = static_cast<std::int64_t>(size_bytes(view.dtype()))};
  for (int other = 0; other < view.rank(); ++other) {
    if (other < axis) blocks.before *= view.dim(other);
    if (other > 0 && other < axis) blocks.batch_share *= view.dim(other);
    if (other > axis) blocks.bytes *= view.dim(other);
  }
  return blocks;
}

void check(const ConstView& cache, const ConstView& update, const ConstView& indices, int axis) {
  if (axis <= 0) fail("TensorScatter", "axis", axis, "another one than the batch, 0");
  if (update.rank() != cache.rank() || update.dtype() != cache.dtype())
    fail("TensorScatter", "update", to_string(update),
         fmt::format("the type and the rank of past_cache, {}", to_string(cache)));
  for (int other = 0; other < cache.rank(); ++other)
    if (other == axis ? update.dim(other) > cache.dim(other)
                      : update.dim(other) != cache.dim(other))
      fail("TensorScatter", "update.shape", to_string(update.shape()),
           fmt::format("at most {} along axis {} and as many elsewhere", to_string(cache.shape()),
                       axis));
  if (indices.given() &&
      (indices.dtype() != DType::kI64 || indices.shape() != Shape({cache.dim(0)})))
    fail("TensorScatter", "write_indices", to_string(indices),
         fmt::format("i64 [{}]", cache.dim(0)));
}

}  // namespace

std::vector<Tensor> tensor_scatter(const NodeCall& call) {
  const ConstView cache = call.required(0, "past_cache");
  const ConstView update = call.required(1, "update");
  const ConstView indices = call.input(2);
  const int axis = axis_of(call, -2, cache.rank());
  const std::string mode = call.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    fail("TensorScatter", "mode", fmt::format("'{}'", mode), "linear or circular");
  check(cache, update, indices, axis);
  Tensor present = Tensor::copy_of(cache);
  const Blocks to = blocks_of(cache, axis);
  const Blocks from = blocks_of(update, axis);
  auto* target = static_cast<std::byte*>(present.view().raw());
  const auto* source = static_cast<const std::byte*>(update.raw());
  for (std::int64_t row = 0; row < from.before * from.along; ++row) {
    const std::int64_t before = row / from.along;
    const std::int64_t begin =
        indices.given() ? indices.data<std::int64_t>()[before / from.batch_share] : 0;
    std::int64_t slot = begin + row % from.along;
    if (mode == "circular") slot = (slot % to.along + to.along) % to.along;
    if (0 > slot || slot >= to.along)
      fail("TensorScatter", "write_indices", fmt::format("for slot {}", slot),
           fmt::format("0 to {}", to.along - 1));
    std::memcpy(target + (before * to.along + slot) * to.bytes, source + row * from.bytes,
                static_cast<std::size_t>(from.bytes));
  }
  return outputs_of(std::move(present));
}

}  // namespace heed::onnx
