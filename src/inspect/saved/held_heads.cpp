
#include <algorithm>
#include <bit>
#include <span>

#include "attention/api/checked.h"
#include "base/sequences.h"
#include "inspect/map/tiles.h"
#include "inspect/saved/held.h"
#include "inspect/session/visible_keys.h"
#include "text/pipeline/base64.h"

namespace heed {
namespace {

constexpr std::int64_t kFewest = 8;  // weights per row: as many as Look draws arcs

static_assert(std::endian::native == std::endian::little, "files are little-endian");

// [1, heads, T, D] or [1, heads, T]: what belongs to one head.
std::string packed_head(const Tensor& own, std::int64_t head) {
  const Tensor tensor = widened(own);
  const std::int64_t count = tensor.element_count() / tensor.dim(1);
  return packed(std::span(tensor.data<float>() + head * count, static_cast<std::size_t>(count)));
}

// The runs of keys over which each head's weights are e^(scale q.k - lse); empty if they depend on
// anything else.
std::optional<VisibleKeys> scored_runs(const LayerAttention& layer) {
  const Scores& scores = layer.scores;
  const bool is_plain = scores.similarity == Similarity::kDot && scores.softcap == 0 &&
                        !scores.bias.given() && !scores.alibi.given() && !scores.sink.given() &&
                        scores.normaliser == Normaliser::kSoftmax;
  std::optional<VisibleKeys> runs = is_plain ? visible_keys(layer, 0) : std::nullopt;
  for (int head = 1; runs && layer.mask.rule() != nullptr && head < layer.q.dim(1); ++head)
    if (visible_keys(layer, head) != runs) runs.reset();
  return runs;
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

// Only its statistics.
HeldHeadAnswer held_head(const LiveSession& session, const Place& place) {
  const LayerHeads scored = session.heads(place.stack, place.layer);
  const Margins& margins = scored->at(static_cast<std::size_t>(place.head)).margins;
  return {.head = place.head,
          .received = packed(margins.received),
          .keys_in_use = packed(margins.keys_in_use),
          .row_sum_error = {margins.row_sum_error}};
}

void hold_scored(const LiveSession& session, const Place& place, int group, HeldLayerAnswer& held) {
  const LayerAttention& layer = session.layer(place);
  HeldHeadAnswer head = held_head(session, place);
  head.group = group;
  head.scale = resolved_scale(layer.args()).at(static_cast<std::size_t>(place.head));
  head.q = packed_head(layer.q, place.head);
  head.lse = packed_lse(layer, place.head);
  if (layer.size().longer() > kTile) head.overview = encode_base64(whole_tile(session, place));
  held.keys.emplace(std::to_string(group), packed_head(layer.k, group));
  held.heads.push_back(std::move(head));
}

// How many weights per row are listed for a head stored by weights: for heads in view all, if they
// are few; for the others as many as fit in a file of a few megabytes.
class ListedWeights {
 public:
  ListedWeights(const LiveSession& session, const std::vector<HeldStackAnswer>& held,
                std::span<const Place> in_view, std::int64_t bytes) {
    constexpr std::int64_t kWholeBytes = std::int64_t{1} << 19;
    std::int64_t rows = 0, keys = 0, whole = 0;
    for (const HeldStackAnswer& stack : held) {
      const MatrixSize size = session.size(stack.stack);
      for (const std::vector<int>& heads : stack.layers) {
        rows += std::ssize(heads) * size.queries;
        keys += std::ssize(heads) * size.keys;
      }
    }
    for (const Place& place : in_view) {
      const MatrixSize size = session.size(place.stack);
      whole += size.queries * size.keys * kEntryBytes;
    }
    if (whole <= kWholeBytes) whole_.assign(in_view.begin(), in_view.end());
    // 12 x 12 heads of 256 tokens make a file below 4 MB.
    const std::int64_t room =
        bytes * 3 / 10 - rows * (kRowBytes + 4) - keys * 4 - std::min(whole, kWholeBytes);
    each_ = std::max(kFewest, room / std::max<std::int64_t>(rows * kEntryBytes, 1));
  }

  std::int64_t of(const Place& place) const {
    return std::ranges::find(whole_, place) == whole_.end() ? each_ : -1;
  }

 private:
  std::vector<Place> whole_;
  std::int64_t each_ = kFewest;
};

HeldLayerAnswer hold_layer(const LiveSession& session, const StackShape& stack, int index,
                           const std::vector<int>& heads, const ListedWeights& listed) {
  const LayerAttention& layer = session.layer({stack.stack, index, 0});
  HeldLayerAnswer held{.stack = stack.stack, .layer = index, .dim = layer.q.dim(3)};
  const std::optional<VisibleKeys> runs = scored_runs(layer);
  if (runs) {
    held.begins = packed(runs->begins);
    held.ends = packed(runs->ends);
  }
  for (const int head : heads) {
    const Place place = {stack.stack, index, head};
    if (runs) {
      hold_scored(session, place, head / (stack.heads / static_cast<int>(layer.k.dim(1))), held);
      continue;
    }
    held.heads.push_back(held_head(session, place));
    held.heads.back().weights = held_weights(layer, head, listed.of(place));
  }
  return held;
}

// The size of one layer, before base64.
std::int64_t bytes_of(const Session& session, const StackShape& stack, std::size_t index) {
  const auto [queries, keys] = session.size(stack.stack);
  const std::vector<LayerAttention>& layers = session.at(stack.stack).layers;
  if (!session.keeps(stack, static_cast<int>(index))) return 0;
  if (!layers.empty() && !scored_runs(layers.at(index)))
    return stack.heads *
           (queries * (4 + kRowBytes + kEntryBytes * std::min(kFewest, keys)) + keys * 4);
  // A shape does not know it where the session is of arrays.
  const LayerKeys own = stack.keys_of(static_cast<int>(index));
  const std::int64_t dim = !layers.empty() ? layers[index].q.dim(3) : own.head_dim;
  return stack.heads * (queries * (4 * dim + 12) + keys * 4) + own.kv_heads * keys * 4 * dim;
}

std::vector<int>& layer_of(std::vector<HeldStackAnswer>& held, const Place& place) {
  const auto stack = std::ranges::find(held, place.stack, &HeldStackAnswer::stack);
  return stack->layers[static_cast<std::size_t>(place.layer)];
}

// The runs of visible keys of at most 64 rows, found while iterating over keys: bit i of `word`
// says whether row i sees the key.
class Runs {
 public:
  Runs(VisibleKeys& keys, std::int64_t first) : keys_(keys), first_(first) {}

  // Whether each row's keys are one run so far.
  bool pass(std::int64_t key, std::uint64_t word) {
    if ((word & ended_) != 0) return false;
    const std::uint64_t ending = begun_ & ~word & ~ended_;
    note(word & ~begun_, keys_.begins, key);
    note(ending, keys_.ends, key);
    ended_ |= ending;
    begun_ |= word;
    return true;
  }

  // Rows that see nothing get an empty run.
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
    held.push_back(
        {shape.stack, std::vector<std::vector<int>>(static_cast<std::size_t>(shape.layers))});
    for (int layer = 0; layer < shape.layers; ++layer) {
      const auto index = static_cast<std::size_t>(layer);
      all_bytes += bytes_of(session, shape, index);
      if (session.keeps(shape, layer)) held.back().layers[index] = ascending<int>(shape.heads);
    }
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
  if (bytes_of(session, shape, static_cast<std::size_t>(first.layer)) <= bytes)
    layer_of(held, first) = ascending<int>(shape.heads);
  return held;
}

std::string whole_tile(const LiveSession& session, const Place& place) {
  Cancel never;
  const LayerAttention& layer = session.layer(place);
  const CellsRequest cells = tile_cells({.session = session.id, .place = place}, layer.size());
  return encode_cells(matrix_cells(layer, cells, never), /*bytes=*/true);
}

std::optional<VisibleKeys> visible_keys(const LayerAttention& layer, int head) {
  const auto size = static_cast<std::size_t>(layer.queries());
  VisibleKeys keys{std::vector<std::int32_t>(size, 0),
                   std::vector<std::int32_t>(size, static_cast<std::int32_t>(layer.keys()))};
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(layer.keys()));
  for (std::int64_t first = 0; first < layer.queries(); first += kMaskRows) {
    const std::int64_t last = std::min(first + kMaskRows, layer.queries());
    visible_bits(layer, head, {first, last, 0, layer.keys()}, by_key.data());
    Runs runs(keys, first);
    for (std::size_t key = 0; key < by_key.size(); ++key)
      if (!runs.pass(static_cast<std::int64_t>(key), by_key[key])) return {};
    runs.finish(last - first);
  }
  return keys;
}

std::vector<HeldLayerAnswer> hold(const LiveSession& session,
                                  const std::vector<HeldStackAnswer>& held,
                                  std::span<const Place> in_view, std::int64_t bytes) {
  const ListedWeights listed(session, held, in_view, bytes);
  std::vector<HeldLayerAnswer> layers;
  for (const HeldStackAnswer& stack : held) {
    const StackShape& shape = session.session().at(stack.stack).shape;
    for (int layer = 0; layer < shape.layers; ++layer) {
      const std::vector<int>& heads = stack.layers[static_cast<std::size_t>(layer)];
      if (!heads.empty()) layers.push_back(hold_layer(session, shape, layer, heads, listed));
    }
  }
  return layers;
}

}  // namespace heed
