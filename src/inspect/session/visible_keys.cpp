#include "inspect/session/visible_keys.h"

#include <algorithm>
#include <vector>

namespace heed {
namespace {

std::int64_t first_or(const std::vector<std::int64_t>& values, std::int64_t otherwise) {
  return values.empty() ? otherwise : values[0];
}

// The numbers of queries and keys. With padding on the left, key 0 is the first key after it.
MatrixSize existing(const LayerAttention& layer) {
  const Extents& extents = layer.extents;
  const std::int64_t begin = first_or(extents.key_begin, 0);
  return {first_or(extents.query_length, layer.queries()),
          first_or(extents.key_length, layer.keys() - begin)};
}

std::uint64_t lowest(std::int64_t count) {
  return count >= 64 ? ~std::uint64_t{0}
                     : (std::uint64_t{1} << std::max<std::int64_t>(count, 0)) - 1;
}

}  // namespace

MaskPlace place_of(const LayerAttention& layer, int head) {
  const Extents& extents = layer.extents;
  const MatrixSize there = existing(layer);
  const std::int64_t key_offset = first_or(extents.key_offset, 0);
  const std::int64_t q_offset = first_or(extents.q_offset, there.keys - there.queries + key_offset);
  return {.head = head, .q_offset = q_offset, .key_offset = key_offset};
}

void visible_bits(const LayerAttention& layer, int head, const MaskTile& tile,
                  std::uint64_t* by_key) {
  const MatrixSize there = existing(layer);
  const std::uint64_t rows = lowest(std::min(tile.row_end, there.queries) - tile.row_begin);
  const MaskRule* rule = layer.mask.rule();
  std::fill_n(by_key, tile.key_end - tile.key_begin, rows);
  if (rule != nullptr) rule->bits(place_of(layer, head), tile, by_key);
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key)
    by_key[key - tile.key_begin] &= key < there.keys ? rows : 0;
}

bool is_causal(const LayerAttention& layer) {
  const MaskPlace place = place_of(layer, 0);
  const std::int64_t ahead = place.q_offset - place.key_offset;  // key i + ahead is query i's own
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(layer.keys()));
  for (std::int64_t first = 0; first < layer.queries(); first += kMaskRows) {
    const std::int64_t last = std::min(first + kMaskRows, layer.queries());
    visible_bits(layer, 0, {first, last, 0, layer.keys()}, by_key.data());
    for (std::int64_t key = std::max<std::int64_t>(first + ahead + 1, 0); key < layer.keys(); ++key)
      if ((by_key[static_cast<std::size_t>(key)] & lowest(key - ahead - first)) != 0) return false;
  }
  return true;
}

LayerAttention shared(const LayerAttention& layer) {
  return {.q = layer.q.share(),
          .k = layer.k.share(),
          .v = layer.v.share(),
          .lse = layer.lse.share(),
          .lse_low = layer.lse_low.share(),
          .bias = layer.bias.share(),
          .slopes = layer.slopes.share(),
          .sink = layer.sink.share(),
          .write_lengths = layer.write_lengths.share(),
          .score_error = layer.score_error,
          .extents = layer.extents,
          .mask = layer.mask,
          .scores = layer.scores};
}

Tensor widened(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 ? tensor.share() : Tensor::converted(tensor, DType::kF32);
}

Session shared(const Session& session) {
  std::vector<SessionStack> stacks;
  for (const SessionStack& stack : session.stacks) {
    stacks.push_back({.shape = stack.shape, .layers = {}});
    for (const LayerAttention& layer : stack.layers) stacks.back().layers.push_back(shared(layer));
  }
  std::vector<StreamLevel> streams;
  for (const StreamLevel& level : session.streams)
    streams.push_back({level.kind, level.stack, level.layer, level.value.share()});
  return {.model = session.model,
          .built_in = session.built_in,
          .info = session.info,
          .tokens = session.tokens,
          .key_tokens = session.key_tokens,
          .types = session.types,
          .split = session.split,
          .images = session.images,
          .stacks = std::move(stacks),
          .logits = session.logits.share(),
          .hidden = session.hidden.share(),
          .streams = std::move(streams),
          .tokenizer = session.tokenizer,
          .source_tokenizer = session.source_tokenizer,
          .edits = session.edits,
          .keep = session.keep};
}

}  // namespace heed
