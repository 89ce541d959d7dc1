#include "heed/nn/kv_cache.h"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "heed/base/error.h"

namespace heed {
namespace {

void check_source(std::string_view name, const ConstView& source, const Tensor& slots,
                  std::int64_t batch) {
  require(source.rank() == 4 && source.dim(0) == batch && source.dim(1) == slots.dim(1) &&
              source.dim(3) == slots.dim(3) && source.dtype() == slots.dtype(),
          "kv cache: {} is {} {}, expected {} [{}, {}, T, {}]", name, heed::name(source.dtype()),
          to_string(source.shape()), heed::name(slots.dtype()), batch, slots.dim(1), slots.dim(3));
  require(source.dim(3) <= 1 || source.stride(3) == 1,
          "kv cache: {} has strides {}, expected contiguous rows", name,
          to_string(source.strides()));
}

// Of row `row` of head g in sequence b, in bytes.
std::int64_t place(const ConstView& view, std::int64_t b, std::int64_t g, std::int64_t row) {
  return (b * view.stride(0) + g * view.stride(1) + row * view.stride(2)) *
         static_cast<std::int64_t>(size_bytes(view.dtype()));
}

std::size_t row_bytes(const ConstView& view) {
  return static_cast<std::size_t>(view.dim(3)) * size_bytes(view.dtype());
}

// Rows 0 .. count-1 of sequence b of `source`, from slot `begin` on.
void write_rows(const ConstView& source, const View& slots, std::int64_t b, std::int64_t begin,
                std::int64_t count) {
  const auto* from = static_cast<const std::byte*>(source.raw());
  auto* to = static_cast<std::byte*>(slots.raw());
  for (std::int64_t g = 0; g < slots.dim(1); ++g)
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(to + place(slots, b, g, begin + i), from + place(source, b, g, i),
                  row_bytes(slots));
}

void move_sequence(const View& slots, std::int64_t from, std::int64_t to, std::int64_t length) {
  auto* memory = static_cast<std::byte*>(slots.raw());
  for (std::int64_t g = 0; g < slots.dim(1); ++g)
    std::memcpy(memory + place(slots, to, g, 0), memory + place(slots, from, g, 0),
                static_cast<std::size_t>(length) * row_bytes(slots));
}

}  // namespace

KvCache::KvCache(const KvCacheShape& shape, DType dtype)
    : shape_(shape), lengths_(static_cast<std::size_t>(shape.batch)) {
  const auto slots = [&](std::int64_t width) {
    return Tensor::empty({shape.batch, shape.kv_heads, shape.capacity, width}, dtype);
  };
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    layers_.push_back({slots(shape.head_dim), slots(shape.value_dim)});
}

void KvCache::require_room(std::span<const std::int64_t> counts) const {
  require(counts.size() == lengths_.size(),
          "kv cache: {} rows are given but the cache has {}: they must agree", counts.size(),
          lengths_.size());
  for (std::size_t b = 0; b < counts.size(); ++b)
    require(counts[b] >= 0 && counts[b] <= shape_.capacity - lengths_[b],
            "kv cache: row {} holds {} tokens and {} more are given, expected at most {} in all", b,
            lengths_[b], counts[b], shape_.capacity);
}

void KvCache::append(int layer, const Keys& keys, std::span<const std::int64_t> counts) {
  require_room(counts);
  Layer& slots = layers_.at(static_cast<std::size_t>(layer));
  check_source("k", keys.k, slots.k, shape_.batch);
  check_source("v", keys.v, slots.v, shape_.batch);
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    const auto row = static_cast<std::size_t>(b);
    require(counts[row] <= keys.k.dim(2) && counts[row] <= keys.v.dim(2),
            "kv cache: k.shape[2] is {} and v.shape[2] is {}, expected at least {}", keys.k.dim(2),
            keys.v.dim(2), counts[row]);
    write_rows(keys.k, slots.k, b, lengths_[row], counts[row]);
    write_rows(keys.v, slots.v, b, lengths_[row], counts[row]);
  }
}

void KvCache::advance(std::span<const std::int64_t> counts) {
  require_room(counts);
  for (std::size_t b = 0; b < counts.size(); ++b) lengths_[b] += counts[b];
}

Keys KvCache::keys(int layer) const {
  const Layer& slots = layers_.at(static_cast<std::size_t>(layer));
  return {.k = slots.k.view().slice(0, 0, shape_.batch),
          .v = slots.v.view().slice(0, 0, shape_.batch)};
}

void KvCache::keep(std::span<const std::int64_t> rows) {
  std::int64_t previous = -1;
  for (const std::int64_t row : rows) {
    require(row > previous && row < shape_.batch,
            "kv cache: row {} is kept after row {}, expected rising rows below {}", row, previous,
            shape_.batch);
    previous = row;
  }
  for (std::size_t to = 0; to < rows.size(); ++to) {
    const std::int64_t from = rows[to];
    const auto into = static_cast<std::int64_t>(to);
    const std::int64_t length = lengths_[static_cast<std::size_t>(from)];
    lengths_[to] = length;
    if (from == into) continue;
    for (Layer& layer : layers_) {
      move_sequence(layer.k, from, into, length);
      move_sequence(layer.v, from, into, length);
    }
  }
  lengths_.resize(rows.size());
  shape_.batch = static_cast<std::int64_t>(rows.size());
}

}  // namespace heed
