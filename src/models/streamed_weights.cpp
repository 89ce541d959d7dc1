// Weights that stay in the file until a product needs them.
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "io/tensor_files.h"
#include "models/stored_weights.h"
#include "nn/parameter.h"
#include "ops/packed_matrix.h"
#include "tensor/block_type.h"

namespace heed {

// Streamed parameters own the file together. One of them reads at a time, because `release` ends
// the views of the others.
struct StoredWeights::SharedFile {
  Weights weights;
  std::mutex guard = {};
};

void StoredWeights::stream(Parameter& parameter, const std::string& stored, DType dtype,
                           const BlockType* blocks,
                           std::function<PackedMatrix(const StoredWeights&)> read) const {
  if (!shared_) shared_ = std::make_shared<SharedFile>(weights_);
  heed::stream(parameter, dtype, blocks, [file = shared_, stored, read = std::move(read)] {
    const std::scoped_lock lock(file->guard);
    PackedMatrix packed = read(StoredWeights(file->weights, {}));
    file->weights.release(stored);
    return packed;
  });
}

void StoredWeights::stream_part(Parameter& parameter, const StackedName& part, const Shape& whole,
                                const Reading& reading) const {
  const Shape own = parameter.value.shape();
  if (part.has_blocks())
    return stream(parameter, part.name, DType::kF32, block_type_named("MXFP4"),
                  [part, own](const StoredWeights& file) {
                    const BlockRows blocks = file.read_blocks(part, own);
                    return PackedMatrix(*blocks.type, blocks.rows);
                  });
  const DType dtype = reading.packed.value_or(DType::kF32);
  const WeightLayout layout = parameter.linear.value_or(WeightLayout::kOutIn);
  stream(parameter, part.name, dtype, nullptr, [=](const StoredWeights& file) {
    return packed_form(layout, file.weights_.tensor(part.name, whole).select(0, part.index), dtype);
  });
}

void StoredWeights::load_streamed(Parameter& parameter, const std::string& stored,
                                  const Reading& reading) const {
  const Shape shape = parameter.value.shape();
  weights_.require(stored, shape);
  if (const std::optional<BlockRows> blocks = weights_.blocks(stored)) {
    weights_.release(stored);
    return stream(parameter, stored, DType::kF32, blocks->type,
                  [stored](const StoredWeights& file) {
                    const BlockRows rows = *file.weights_.blocks(stored);
                    return PackedMatrix(*rows.type, rows.rows);
                  });
  }
  const DType dtype = reading.packed.value_or(DType::kF32);
  const WeightLayout layout = parameter.linear.value_or(WeightLayout::kOutIn);
  stream(parameter, stored, dtype, nullptr, [=](const StoredWeights& file) {
    return packed_form(layout, file.weights_.tensor(stored, shape), dtype);
  });
}

}  // namespace heed
