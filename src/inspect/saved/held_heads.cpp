#include "inspect/saved/held_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "attention/api/checked.h"
#include "heed/error.h"
#include "inspect/map/tiles.h"
#include "inspect/session/visible_keys.h"
#include "text/pipeline/base64.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

template <typename Value>
std::string packed(const Value* values, std::size_t count) {
  return encode_base64({reinterpret_cast<const char*>(values), count * sizeof(Value)});
}

template <typename Value>
std::string packed(const std::vector<Value>& values) {
  return packed(values.data(), values.size());
}

// [1, heads, T, D] or [1, heads, T]: what belongs to one head.
std::string packed_head(const Tensor& tensor, std::int64_t head) {
  const std::int64_t count = tensor.element_count() / tensor.dim(1);
  return packed(tensor.data<float>() + head * count, static_cast<std::size_t>(count));
}

void require_plain(const LayerAttention& layer, int index) {
  const Scores& scores = layer.scores;
  const bool plain = scores.similarity == Similarity::kDot && scores.softcap == 0 &&
                     !scores.bias.given() && !scores.alibi.given() && !scores.sink.given() &&
                     scores.normaliser == Normaliser::kSoftmax;
  if (!plain)
    fail({.code = ErrorCode::kUnsupported,
          .op = "html",
          .argument = fmt::format("layer {}", index),
          .found = "scored by more than scale * q.k",
          .hint = "a file cannot compute such scores again"});
}

std::string packed_lse(const LayerAttention& layer, int head) {
  const std::int64_t length = layer.lse.dim(2);
  std::vector<double> lse(static_cast<std::size_t>(length));
  for (std::int64_t row = 0; row < length; ++row)
    lse[static_cast<std::size_t>(row)] =
        static_cast<double>(layer.lse.data<float>()[head * length + row]) +
        static_cast<double>(layer.lse_low.data<float>()[head * length + row]);
  return packed(lse);
}

// The whole matrix in one tile, which a page would take seconds to pool from a long text.
std::string overview(const LiveSession& session, const Place& place) {
  Cancel never;
  const LayerAttention& layer = session.layer(place);
  const CellsRequest cells = tile_cells({.session = session.id, .place = place}, layer.size());
  return encode_base64(encode_cells(matrix_cells(layer, cells, never), /*bytes=*/true));
}

HeldHeadAnswer hold_head(const LiveSession& session, const Place& place, int sharing) {
  const LayerAttention& layer = session.layer(place);
  const LayerHeads scored = session.heads(place.stack, place.layer);
  const Margins& margins = scored->at(static_cast<std::size_t>(place.head)).margins;
  HeldHeadAnswer held{
      .head = place.head,
      .group = place.head / sharing,
      .scale = resolved_scale(layer.args()).at(static_cast<std::size_t>(place.head)),
      .q = packed_head(layer.q, place.head),
      .lse = packed_lse(layer, place.head),
      .received = packed(margins.received),
      .keys_in_use = packed(margins.keys_in_use),
      .row_sum_error = margins.row_sum_error};
  if (layer.size().longer() > kTile) held.overview = overview(session, place);
  return held;
}

HeldLayerAnswer hold_layer(const LiveSession& session, const StackShape& stack, int index,
                           const std::vector<int>& heads) {
  const LayerAttention& layer = session.layer({stack.stack, index, 0});
  require_plain(layer, index);
  const VisibleKeys visible = visible_keys(layer, heads.front());
  const int sharing = stack.heads / stack.kv_heads;
  HeldLayerAnswer held{.stack = stack.stack,
                       .layer = index,
                       .dim = layer.q.dim(3),
                       .begins = packed(visible.begins),
                       .ends = packed(visible.ends)};
  for (const int head : heads) {
    const int group = head / sharing;
    held.keys.emplace(std::to_string(group), packed_head(layer.k, group));
    held.heads.push_back(hold_head(session, {stack.stack, index, head}, sharing));
  }
  return held;
}

// What one layer costs, before base64.
std::int64_t bytes_of(const Session& session, const StackShape& stack) {
  const std::int64_t queries = std::ssize(session.queries(stack.stack));
  const std::int64_t keys = std::ssize(session.keys(stack.stack));
  const std::vector<LayerAttention>& layers = session.at(stack.stack).layers;
  // A shape does not know it where the session is of arrays.
  const std::int64_t dim =
      !layers.empty() && layers[0].q.given() ? layers[0].q.dim(3) : stack.head_dim;
  return stack.heads * (queries * (4 * dim + 12) + keys * 4) + stack.kv_heads * keys * 4 * dim;
}

std::vector<int> all_heads(const StackShape& stack) {
  std::vector<int> all(static_cast<std::size_t>(stack.heads));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int>& layer_of(std::vector<HeldStackAnswer>& held, const Place& place) {
  const auto stack = std::ranges::find(held, place.stack, &HeldStackAnswer::stack);
  return stack->layers[static_cast<std::size_t>(place.layer)];
}

// The runs of keys of at most 64 rows, found while the keys pass by: bit i of `word` says whether
// row i sees the key.
class Runs {
 public:
  Runs(VisibleKeys& keys, std::int64_t first) : keys_(keys), first_(first) {}

  void pass(std::int64_t key, std::uint64_t word) {
    if ((word & ended_) != 0)
      fail({.code = ErrorCode::kUnsupported,
            .op = "html",
            .found = "a query sees keys with others between",
            .hint = "a file holds one run of keys a query"});
    const std::uint64_t ending = begun_ & ~word & ~ended_;
    note(word & ~begun_, keys_.begins, key);
    note(ending, keys_.ends, key);
    ended_ |= ending;
    begun_ |= word;
  }

  // Rows that see nothing end where they begin.
  void finish(std::int64_t rows) {
    const std::uint64_t all = rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
    note(all & ~begun_, keys_.ends, 0);
  }

 private:
  void note(std::uint64_t rows, std::vector<std::int32_t>& to, std::int64_t key) const {
    for (; rows != 0; rows &= rows - 1)
      to[static_cast<std::size_t>(first_ + std::countr_zero(rows))] =
          static_cast<std::int32_t>(key);
  }

  VisibleKeys& keys_;
  std::int64_t first_;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace

std::vector<HeldStackAnswer> choose_held(const Session& session, const ViewAddress& view,
                                         std::int64_t bytes) {
  const std::vector<StackShape> shapes = session.shapes();
  std::int64_t all_bytes = 0;
  std::vector<HeldStackAnswer> held;
  for (const StackShape& shape : shapes) {
    all_bytes += shape.layers * bytes_of(session, shape);
    held.push_back({shape.stack, {static_cast<std::size_t>(shape.layers), all_heads(shape)}});
  }
  if (all_bytes <= bytes) return held;
  for (HeldStackAnswer& stack : held) std::ranges::fill(stack.layers, std::vector<int>());
  for (const ViewPlace& named : view.places) {
    const Place place = place_of(named, shapes);
    std::vector<int>& heads = layer_of(held, place);
    if (std::ranges::find(heads, place.head) == heads.end()) heads.push_back(place.head);
    std::ranges::sort(heads);
  }
  const Place first = place_of(view.places.front(), shapes);
  const StackShape& shape = session.at(first.stack).shape;
  if (bytes_of(session, shape) <= bytes) layer_of(held, first) = all_heads(shape);
  return held;
}

VisibleKeys visible_keys(const LayerAttention& layer, int head) {
  const auto size = static_cast<std::size_t>(layer.queries());
  VisibleKeys keys{std::vector<std::int32_t>(size, 0),
                   std::vector<std::int32_t>(size, static_cast<std::int32_t>(layer.keys()))};
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(layer.keys()));
  for (std::int64_t first = 0; first < layer.queries(); first += kMaskRows) {
    const std::int64_t last = std::min(first + kMaskRows, layer.queries());
    visible_bits(layer, head, {first, last, 0, layer.keys()}, by_key.data());
    Runs runs(keys, first);
    for (std::size_t key = 0; key < by_key.size(); ++key)
      runs.pass(static_cast<std::int64_t>(key), by_key[key]);
    runs.finish(last - first);
  }
  return keys;
}

std::vector<HeldLayerAnswer> hold(const LiveSession& session,
                                  const std::vector<HeldStackAnswer>& held) {
  std::vector<HeldLayerAnswer> layers;
  for (const HeldStackAnswer& stack : held) {
    const StackShape& shape = session.session().at(stack.stack).shape;
    for (int layer = 0; layer < shape.layers; ++layer) {
      const std::vector<int>& heads = stack.layers[static_cast<std::size_t>(layer)];
      if (!heads.empty()) layers.push_back(hold_layer(session, shape, layer, heads));
    }
  }
  return layers;
}

}  // namespace heed
