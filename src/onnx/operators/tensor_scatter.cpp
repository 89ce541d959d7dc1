// TensorScatter, opset 24: rows written into a cache, for any element type.
#include <cstring>

#include "heed/base/error.h"
#include "onnx/operators.h"

namespace heed::onnx {
namespace {

// [before, along, after] around the axis, in bytes.
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
  require(axis > 0, "TensorScatter: axis 0 is the batch, another one is expected");
  require(update.rank() == cache.rank() && update.dtype() == cache.dtype(),
          "TensorScatter: update is {} {}, expected as past_cache {} {}", name(update.dtype()),
          to_string(update.shape()), name(cache.dtype()), to_string(cache.shape()));
  for (int other = 0; other < cache.rank(); ++other)
    require(other == axis ? update.dim(other) <= cache.dim(other)
                          : update.dim(other) == cache.dim(other),
            "TensorScatter: update is {} but past_cache {}", to_string(update.shape()),
            to_string(cache.shape()));
  require(!indices.given() ||
              (indices.dtype() == DType::kI64 && indices.shape() == Shape({cache.dim(0)})),
          "TensorScatter: write_indices is {} {}, expected i64 [{}]", name(indices.dtype()),
          to_string(indices.shape()), cache.dim(0));
}

}  // namespace

std::vector<Tensor> tensor_scatter(const NodeCall& call) {
  const ConstView cache = call.required(0, "past_cache");
  const ConstView update = call.required(1, "update");
  const ConstView indices = call.input(2);
  const int axis = axis_of(call, -2, cache.rank());
  const std::string mode = call.text("mode", "linear");
  require(mode == "linear" || mode == "circular",
          "TensorScatter: mode is '{}', expected linear or circular", mode);
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
    require(0 <= slot && slot < to.along,
            "TensorScatter: slot {} is outside of the {} of the cache", slot, to.along);
    std::memcpy(target + (before * to.along + slot) * to.bytes, source + row * from.bytes,
                static_cast<std::size_t>(from.bytes));
  }
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(present));
  return outputs;
}

}  // namespace heed::onnx
