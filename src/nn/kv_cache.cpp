// The cache of keys and values: where each form stores a token.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "nn/page_pool.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "kv cache";

void check_source(std::string_view name, const ConstView& source, const View& slots,
                  const KvCacheShape& shape, std::span<const std::int64_t> counts) {
  if (source.rank() != 4 || source.dim(0) != shape.batch || source.dim(1) != slots.dim(1) ||
      source.dim(3) != slots.dim(3) || !is_floating(source.dtype()))
    fail(kOp, name, to_string(source),
         fmt::format("[{}, {}, T, {}] of f64, f32, f16 or bf16", shape.batch, slots.dim(1),
                     slots.dim(3)));
  for (const std::int64_t count : counts)
    if (count > source.dim(2))
      fail(kOp, fmt::format("{}.shape[2]", name), source.dim(2), fmt::format("at least {}", count));
}

// The offset in bytes of a row of head g in block `block`.
std::int64_t offset(const ConstView& view, std::int64_t block, std::int64_t g, std::int64_t row) {
  return (block * view.stride(0) + g * view.stride(1) + row * view.stride(2)) *
         static_cast<std::int64_t>(size_bytes(view.dtype()));
}

std::size_t row_bytes(const ConstView& view) {
  return static_cast<std::size_t>(view.dim(3)) * size_bytes(view.dtype());
}

void check(const KvCacheShape& shape, const KvCacheOptions& options) {
  const std::pair<std::string_view, std::int64_t> extents[] = {
      {"layers", shape.layers},     {"batch", shape.batch},       {"kv_heads", shape.kv_heads},
      {"capacity", shape.capacity}, {"head_dim", shape.head_dim}, {"value_dim", shape.value_dim}};
  for (const auto& [name, extent] : extents)
    if (extent < 0) fail(kOp, name, extent, "0 or more");
  if (!shape.of_layers.empty() && std::ssize(shape.of_layers) != shape.layers)
    fail(kOp, "of_layers", fmt::format("a list of {}", shape.of_layers.size()),
         fmt::format("{} entries (one per layer), or none", shape.layers));
  for (const KvLayerShape& layer : shape.of_layers)
    for (const std::int64_t extent : {layer.kv_heads, layer.head_dim, layer.value_dim})
      if (extent < 0) fail(kOp, "of_layers", extent, "0 or more");
  require_enumerator(kOp, "form", options.form, KvForm::kPaged);
  if (!is_floating(options.dtype) && options.dtype != DType::kI8)
    fail(kOp, "dtype", name(options.dtype), "f64, f32, f16, bf16 or i8");
  if (options.form == KvForm::kRing && (options.left < 0 || options.left >= shape.capacity))
    fail(kOp, "left", options.left,
         fmt::format("0 to {}, so that a ring of {} slots has room for one more",
                     std::max<std::int64_t>(shape.capacity - 1, 0), shape.capacity));
  if (options.form != KvForm::kRing && options.left != 0)
    fail(kOp, "left", options.left, "0 (the form is not a ring)");
  if (options.form != KvForm::kPaged && options.pages != 0)
    fail(kOp, "pages", options.pages, "0 (the form is not paged)");
  if (options.form == KvForm::kPaged && (options.page_size <= 0 || options.pages < 0))
    fail(kOp, options.page_size <= 0 ? "page_size" : "pages",
         options.page_size <= 0 ? options.page_size : options.pages,
         options.page_size <= 0 ? "at least 1" : "0 or more");
}

RopeArgs turned_by(const RopeArgs& rope, const ConstView& k,
                   std::span<const std::int64_t> lengths) {
  if (!rope.offset.empty()) fail(kOp, "rope.offset", "given", "none (rows go on where they are)");
  RopeArgs args = rope;
  args.x = k;
  const bool of_tokens = rope.cosines.given() && rope.cosines.rank() == 3;
  if (!rope.positions.given() && !of_tokens) args.offset.assign(lengths.begin(), lengths.end());
  return args;
}

}  // namespace

KvCache::KvCache(const KvCacheShape& shape, const KvCacheOptions& options)
    : shape_(shape),
      most_rows_(shape.batch),
      options_(options),
      pool_(std::make_unique<PagePool>()) {
  check(shape, options);
  lengths_.resize(static_cast<std::size_t>(shape.batch));
  if (options_.form == KvForm::kPaged) {
    const std::int64_t a_row = (shape.capacity + options_.page_size - 1) / options_.page_size;
    if (options_.pages == 0) options_.pages = shape.batch * a_row;
    *pool_ = PagePool(shape.batch, a_row, options_.pages, options_.page_size);
  }
  for (int layer = 0; layer < shape.layers; ++layer) {
    const KvLayerShape own = shape.of_layer(layer);
    const bool is_recurrent = std::ranges::binary_search(shape.recurrent, layer);
    layers_.push_back({.k = is_recurrent ? Slots() : slots_of(own.kv_heads, own.head_dim),
                       .v = is_recurrent ? Slots() : slots_of(own.kv_heads, own.value_dim),
                       .appended = lengths_,
                       .source = {},
                       .is_recurrent = is_recurrent});
  }
}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&& other) noexcept = default;
KvCache& KvCache::operator=(KvCache&& other) noexcept = default;

std::int64_t KvCache::free_pages() const { return pool_->free_pages(); }

std::size_t KvCache::index_of(int layer) const {
  if (layer < 0 || layer >= shape_.layers)
    fail(kOp, "layer", layer, fmt::format("0 to {}", shape_.layers - 1));
  return static_cast<std::size_t>(layer);
}

void KvCache::require_recurrent(const Layer& layer, int index, bool is_recurrent) const {
  if (layer.is_recurrent == is_recurrent) return;
  fail(kOp, "layer", index,
       is_recurrent ? "a layer that keeps a state" : "a layer that keeps keys");
}

KvCache::Slots KvCache::slots_of(std::int64_t heads, std::int64_t width) const {
  const bool paged = options_.form == KvForm::kPaged;
  const Shape slots = {paged ? options_.pages : shape_.batch, heads,
                       paged ? options_.page_size : shape_.capacity, width};
  const bool scaled = options_.dtype == DType::kI8;
  return {Tensor::empty(slots, options_.dtype),
          scaled ? Tensor::empty(scales_shape(slots)) : Tensor()};
}

void KvCache::require_room(std::span<const std::int64_t> counts) const {
  if (counts.size() != lengths_.size())
    fail(kOp, "counts", fmt::format("a list of {}", counts.size()),
         fmt::format("{} entries (one per row)", lengths_.size()));
  std::int64_t missing = 0;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    if (options_.form == KvForm::kRing) {
      if (counts[b] < 0 || counts[b] > shape_.capacity - options_.left)
        fail(kOp, fmt::format("counts[{}]", b), counts[b],
             fmt::format("0 to {} (a ring of {} slots keeps the last {})",
                         shape_.capacity - options_.left, shape_.capacity, options_.left));
      continue;
    }
    if (counts[b] < 0 || counts[b] > shape_.capacity - lengths_[b])
      fail(kOp, fmt::format("counts[{}]", b), counts[b],
           fmt::format("0 to {} (the row holds {} of {})", shape_.capacity - lengths_[b],
                       lengths_[b], number_of(shape_.capacity, "token")));
    if (options_.form == KvForm::kPaged)
      missing += pool_->missing(static_cast<std::int64_t>(b), lengths_[b] + counts[b]);
  }
  if (missing > pool_->free_pages())
    fail({.op = kOp,
          .argument = "counts",
          .found = fmt::format("for {} more pages", missing),
          .expected =
              fmt::format("at most {} (the free ones of {})", pool_->free_pages(), options_.pages),
          .hint = "rows that ended give theirs back"});
}

KvCache::Place KvCache::place(std::int64_t row, std::int64_t token) const {
  if (options_.form == KvForm::kPaged)
    return {pool_->page_of(row, token), token % options_.page_size};
  return {row, options_.form == KvForm::kRing ? token % shape_.capacity : token};
}

void KvCache::write_rows(const ConstView& source, const View& slots,
                         std::span<const std::int64_t> counts) const {
  const auto* from = static_cast<const std::byte*>(source.raw());
  auto* to = static_cast<std::byte*>(slots.raw());
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    const auto row = static_cast<std::size_t>(b);
    for (std::int64_t i = 0; i < counts[row]; ++i) {
      const Place at = place(b, lengths_[row] + i);
      for (std::int64_t g = 0; g < slots.dim(1); ++g)
        std::memcpy(to + offset(slots, at.block, g, at.slot), from + offset(source, b, g, i),
                    row_bytes(slots));
    }
  }
}

void KvCache::write(const ConstView& source, Slots& slots,
                    std::span<const std::int64_t> counts) const {
  if (options_.dtype == DType::kI8) {
    const Quantised made = quantise(source);
    write_rows(made.values, slots.values, counts);
    write_rows(made.scales, slots.scales, counts);
  } else if (source.dtype() == options_.dtype && (source.dim(3) <= 1 || source.stride(3) == 1)) {
    write_rows(source, slots.values, counts);
  } else {
    write_rows(Tensor::converted(source, options_.dtype), slots.values, counts);
  }
}

void KvCache::append(int layer, const Keys& keys, std::span<const std::int64_t> counts,
                     const std::optional<RopeArgs>& rope) {
  Layer& slots = layers_[index_of(layer)];
  require_recurrent(slots, layer, false);
  require_room(counts);
  check_source("k", keys.k, slots.k.values, shape_, counts);
  check_source("v", keys.v, slots.v.values, shape_, counts);
  const Tensor turned = rope ? heed::rope(turned_by(*rope, keys.k, lengths_)) : Tensor();
  if (options_.form == KvForm::kPaged)
    for (std::size_t b = 0; b < counts.size(); ++b)
      pool_->take(static_cast<std::int64_t>(b), lengths_[b] + counts[b]);
  std::ranges::fill(slots.appended, 0);  // until everything is written
  write(rope ? turned.view() : keys.k, slots.k, counts);
  write(keys.v, slots.v, counts);
  slots.appended.assign(counts.begin(), counts.end());
}

bool KvCache::keeps(std::size_t layer) const {
  return shape_.of_layers.empty() || shape_.of_layers[layer].kv_heads > 0;
}

void KvCache::require_appended(std::span<const std::int64_t> counts) const {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    for (std::size_t b = 0; keeps(layer) && b < counts.size(); ++b) {
      const std::int64_t appended = layers_[layer].appended[b];
      if (layers_[layer].is_recurrent ? counts[b] != appended : counts[b] > appended)
        fail(kOp, fmt::format("counts[{}]", b), counts[b],
             fmt::format("{}{}, what layer {} has appended",
                         layers_[layer].is_recurrent ? "" : "at most ", appended, layer));
    }
}

void KvCache::advance(std::span<const std::int64_t> counts) {
  require_room(counts);
  require_appended(counts);
  for (std::size_t b = 0; b < counts.size(); ++b) lengths_[b] += counts[b];
  for (Layer& layer : layers_) {
    std::ranges::fill(layer.appended, 0);
    if (!layer.next_state.empty()) layer.state = std::exchange(layer.next_state, {});
  }
}

// The first token that a ring still needs before this pass's tokens.
std::int64_t KvCache::first_kept(std::int64_t row) const {
  if (options_.form != KvForm::kRing) return 0;
  return std::max<std::int64_t>(lengths_[static_cast<std::size_t>(row)] - options_.left, 0);
}

bool KvCache::Layer::has_appended() const {
  return std::ranges::any_of(appended, [](std::int64_t count) { return count > 0; });
}

Keys KvCache::keys(int layer) const {
  const Layer& slots = layers_[index_of(layer)];
  require_recurrent(slots, layer, false);
  if (!slots.has_appended() && std::ranges::any_of(layers_, &Layer::has_appended))
    fail(kOp, "layer", fmt::format("{}, which this pass has not appended", layer),
         "one that it has");
  const bool paged = options_.form == KvForm::kPaged;
  const auto held = [&](const Tensor& tensor) {
    if (!tensor.given()) return ConstView();
    return paged ? tensor.view() : tensor.view().slice(0, 0, shape_.batch);
  };
  Keys keys = {.k = held(slots.k.values),
               .v = held(slots.v.values),
               .page_table = pool_->table(shape_.batch),
               .k_scales = held(slots.k.scales),
               .v_scales = held(slots.v.scales)};
  if (options_.form == KvForm::kRing)
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      keys.ring_begin.push_back(first_kept(b) % shape_.capacity);
  return keys;
}

Extents KvCache::extents(std::span<const std::int64_t> counts) const {
  require_room(counts);
  Extents extents = {.query_length = {counts.begin(), counts.end()}};
  for (std::size_t b = 0; b < counts.size(); ++b) {
    const std::int64_t first = first_kept(static_cast<std::int64_t>(b));
    extents.key_length.push_back(lengths_[b] + counts[b] - first);
    extents.key_offset.push_back(first);
    extents.q_offset.push_back(lengths_[b]);
  }
  return extents;
}

void KvCache::clear(std::int64_t row) {
  if (row < 0 || row >= shape_.batch)
    fail(kOp, "row", row, fmt::format("0 to {}", shape_.batch - 1));
  lengths_[static_cast<std::size_t>(row)] = 0;
  for (Layer& layer : layers_) {
    layer.appended[static_cast<std::size_t>(row)] = 0;
    layer.next_state.clear();
    for (Tensor& state : layer.state) {
      const std::size_t bytes = byte_count(state) / static_cast<std::size_t>(shape_.batch);
      std::memset(
          static_cast<std::byte*>(state.view().raw()) + static_cast<std::size_t>(row) * bytes, 0,
          bytes);
    }
  }
  if (options_.form == KvForm::kPaged) pool_->give_back(row);
}

const std::vector<Tensor>& KvCache::state(int layer) const {
  const Layer& own = layers_[index_of(layer)];
  require_recurrent(own, layer, true);
  return own.state;
}

void KvCache::put_state(int layer, std::vector<Tensor> state,
                        std::span<const std::int64_t> counts) {
  Layer& own = layers_[index_of(layer)];
  require_recurrent(own, layer, true);
  require_room(counts);
  for (const Tensor& tensor : state)
    if (tensor.rank() == 0 || tensor.dim(0) != shape_.batch)
      fail(kOp, "state", to_string(tensor), fmt::format("[{}, ...]", shape_.batch));
  own.next_state = std::move(state);
  own.appended.assign(counts.begin(), counts.end());
}

void KvCache::put_source(int layer, SourceKeys keys) {
  layers_[index_of(layer)].source = std::move(keys);
}

const SourceKeys* KvCache::source(int layer) const {
  const SourceKeys& keys = layers_[index_of(layer)].source;
  return keys.k.given() ? &keys : nullptr;
}

}  // namespace heed
