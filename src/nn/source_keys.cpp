#include "nn/source_keys.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace heed {
namespace {

Tensor rows_of(const Tensor& tensor, std::span<const std::int64_t> rows) {
  Shape shape = tensor.shape();
  shape[0] = std::ssize(rows);
  Tensor chosen = Tensor::empty(shape, tensor.dtype());
  const std::int64_t row = tensor.dim(0) == 0 ? 0 : tensor.element_count() / tensor.dim(0);
  const std::size_t bytes = static_cast<std::size_t>(row) * size_bytes(tensor.dtype());
  for (std::size_t to = 0; to < rows.size(); ++to)
    std::memcpy(static_cast<std::byte*>(chosen.view().raw()) + to * bytes,
                static_cast<const std::byte*>(tensor.view().raw()) +
                    static_cast<std::size_t>(rows[to]) * bytes,
                bytes);
  return chosen;
}

}  // namespace

void select_rows(SourceKeys& source, std::span<const std::int64_t> rows) {
  if (!source.k.given()) return;
  source.k = rows_of(source.k, rows);
  source.v = rows_of(source.v, rows);
  std::vector<std::int64_t> lengths;
  for (const std::int64_t row : rows)
    lengths.push_back(source.lengths[static_cast<std::size_t>(row)]);
  source.lengths = std::move(lengths);
}

void KvCache::put_source(int layer, SourceKeys keys) {
  layers_[index_of(layer)].source = std::move(keys);
}

const SourceKeys* KvCache::source(int layer) const {
  const SourceKeys& keys = layers_[index_of(layer)].source;
  return keys.k.given() ? &keys : nullptr;
}

}  // namespace heed
