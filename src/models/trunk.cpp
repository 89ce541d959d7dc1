#include "models/trunk.h"

#include <ranges>
#include <type_traits>
#include <utility>

#include "ops/elementwise.h"

namespace heed {
namespace {

Tensor types_of(const Batch& batch) {
  return batch.types.given() ? Tensor::copy_of(batch.types)
                             : Tensor::zeros(batch.ids.shape(), DType::kI32);
}

// The layers whose keys later ones read; none in a pass that has them already.
std::vector<int> lenders(const Trunk& trunk, const Run& run) {
  std::vector<int> layers;
  if (run.shared_keys != nullptr) return layers;
  for (const TrunkLayer& layer : trunk.layers)
    if (const auto* const attention = layer.attention.branch().get<Attention>())
      if (attention->shape().lends_keys) layers.push_back(attention->shape().layer);
  return layers;
}

template <typename Branch>
BranchParts branch_parts(const Residual<Branch>& residual, Stack stack, int layer) {
  BranchParts parts{.stack = stack, .layer = layer};
  if constexpr (std::is_same_v<Branch, Attention>)
    parts.attention = &residual.branch();
  else if constexpr (std::is_same_v<Branch, Mixer>)
    parts.attention = residual.branch().template get<Attention>();
  else
    parts.kind = std::is_same_v<Branch, LayerWords> ? TapKind::kLayerWords : TapKind::kMlp;
  const Norms& norms = residual.norms();
  if (norms.before) parts.before = norms.before->numbers();
  if (norms.inside) parts.inside = norms.inside->numbers();
  if (norms.after) parts.after = norms.after->numbers();
  return parts;
}

}  // namespace

Tensor Trunk::embedded(const Batch& batch, Run& run) const {
  Tensor x = words.forward(batch.ids);
  if (word_projection) x = word_projection->forward(x, run);
  if (word_scale != 1) x = scaled(std::move(x), word_scale);
  if (positions) {
    x = add(std::move(x), positions->forward(positions_of(batch.ids, run, rows)));
  } else if (sinusoids) {
    const Tensor waves = heed::sinusoids(positions_of(batch.ids, run, rows), *sinusoids, x.dtype());
    x = add(std::move(x), waves);
  }
  if (types) x = add(std::move(x), types->forward(types_of(batch)));
  if (embedding_norm) x = embedding_norm->forward(x, run);
  x = dropout.forward(std::move(x), run);
  if (projection) x = projection->forward(x, run);
  return x;
}

Tensor Trunk::forward(const Batch& batch, Run& run, const Source& source) const {
  if (const std::vector<int> lending = lenders(*this, run); !lending.empty()) {
    SharedKeys keys;
    Run own = run;
    own.shared_keys = &keys;
    Tensor states = forward(batch, own, source);
    for (const int layer : lending)  // for layers that are computed again
      if (run.saved != nullptr) {
        run.saved->put(keys.of(layer).k.share());
        run.saved->put(keys.of(layer).v.share());
      }
    return states;
  }
  const Shown show{run, stack};
  Tensor x = show(TapKind::kEmbedding, embedded(batch, run));  // [B, T, C]
  std::vector<WordsOfLayer> words_of_layers;
  if (layer_tables) words_of_layers = layer_tables->forward(batch.ids, x, run);
  for (std::size_t index = 0; index < layers.size(); ++index) {
    const TrunkLayer& layer = layers[index];
    if (parallel && layer.mlp) {
      x = layer.mlp->beside(x, layer.attention.forward(x.share(), run), run);
      continue;
    }
    x = layer.attention.forward(std::move(x), run);
    if (layer.cross) x = layer.cross->forward(std::move(x), run, source);
    if (layer.mlp) x = layer.mlp->forward(std::move(x), run);
    if (layer.words) x = layer.words->forward(std::move(x), run, words_of_layers[index]);
  }
  return show(TapKind::kFinal, last_norm ? last_norm->forward(x, run) : std::move(x));
}

void Trunk::backward(const Tensor& dstates, const Batch& batch, Run& run, Gradients& gradients,
                     const Source& source, Tensor* dsource) const {
  if (const std::vector<int> lending = lenders(*this, run); !lending.empty()) {
    SharedKeys keys;
    for (const int layer : lending | std::views::reverse) {
      Tensor v = run.saved->take();
      keys.put(layer, {run.saved->take(), std::move(v)});
    }
    Run own = run;
    own.shared_keys = &keys;
    return backward(dstates, batch, own, gradients, source, dsource);
  }
  std::vector<WordsGradient> dwords(layer_tables ? layers.size() : 0);
  Tensor dx = last_norm ? last_norm->backward(dstates, run, gradients) : dstates.share();
  for (auto at = layers.rbegin(); at != layers.rend(); ++at) {
    const TrunkLayer& layer = *at;
    if (parallel && layer.mlp) {
      Tensor beside = layer.mlp->beside_backward(dx, run, gradients);
      dx = add(std::move(beside), layer.attention.backward(dx, run, gradients));
      continue;
    }
    if (layer.words)
      dx = layer.words->backward(dx, run, gradients,
                                 dwords[static_cast<std::size_t>(layers.rend() - at - 1)]);
    if (const auto& mlp = layer.mlp) dx = mlp->backward(dx, run, gradients);
    if (const auto& cross = layer.cross) dx = cross->backward(dx, run, gradients, source, *dsource);
    dx = layer.attention.backward(dx, run, gradients);
  }
  if (layer_tables)
    dx = add(std::move(dx), layer_tables->backward(batch.ids, dwords, run, gradients));
  if (projection) dx = projection->backward(dx, run, gradients);
  dx = dropout.backward(dx, run);
  if (embedding_norm) dx = embedding_norm->backward(dx, run, gradients);
  if (types) types->backward(types_of(batch), dx, gradients);
  if (positions) positions->backward(positions_of(batch.ids, run, rows), dx, gradients);
  if (word_scale != 1) dx = scaled(std::move(dx), word_scale);
  if (word_projection) dx = word_projection->backward(dx, run, gradients);
  words.backward(batch.ids, dx, gradients);
}

void Trunk::collect(std::vector<Parameter*>& into) {
  const auto add_parts = [&](auto&... parts) { ((parts ? parts->collect(into) : void()), ...); };
  if (owns_words) words.collect(into);
  add_parts(layer_tables, positions, types, embedding_norm, word_projection, head_projection,
            projection);
  for (const auto& bias : distances) bias->collect(into);
  for (TrunkLayer& layer : layers) {
    if (!layer.is_first) continue;
    layer.attention.collect(into);
    add_parts(layer.cross, layer.mlp, layer.words);
  }
  add_parts(last_norm);
}

StreamParts Trunk::parts() const {
  StreamParts parts{.stack = stack,
                    .words = word_projection || projection ? nullptr : &words,
                    .word_scale = word_scale,
                    .positions = positions ? &*positions : nullptr,
                    .first_position = rows.first,
                    .pad = rows.pad,
                    .types = types ? &*types : nullptr};
  if (embedding_norm) parts.embedded = embedding_norm->numbers();
  int index = 0;
  for (const TrunkLayer& layer : layers) {
    parts.branches.push_back(branch_parts(layer.attention, stack, index));
    if (layer.cross) parts.branches.push_back(branch_parts(*layer.cross, Stack::kCross, index));
    if (layer.mlp) parts.branches.push_back(branch_parts(*layer.mlp, stack, index));
    if (layer.words) parts.branches.push_back(branch_parts(*layer.words, stack, index));
    ++index;
  }
  if (last_norm) parts.last = last_norm->numbers();
  return parts;
}

std::vector<std::shared_ptr<const Rotation>> rotations_of(std::span<const RopeScaling> scalings) {
  std::vector<std::shared_ptr<const Rotation>> rotations;
  for (const RopeScaling& scaling : scalings)
    rotations.push_back(std::make_shared<const Rotation>(scaling));
  return rotations;
}

}  // namespace heed
