#include "nn/layer_words.h"

#include "tensor/views.h"

namespace heed {

std::vector<WordsOfLayer> LayerTables::forward(const ConstView& ids, const Tensor& x,
                                               Run& run) const {
  const std::int64_t width = parts_.norm.width();
  Tensor rows = scaled(parts_.projection.forward(x, run), parts_.projection_scale);
  const Shape whole = rows.shape();  // [B, T, layers P]
  const std::int64_t layers = whole[2] / width;
  rows = parts_.norm.forward(std::move(rows).reshaped({whole[0], whole[1], layers, width}), run);
  rows = std::move(rows).reshaped(whole);
  rows = add(std::move(rows), scaled(parts_.words.forward(ids), parts_.word_scale));
  rows = scaled(std::move(rows), parts_.sum_scale);
  std::vector<WordsOfLayer> words;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    words.push_back({Tensor::copy_of(rows.view().slice(2, layer * width, (layer + 1) * width))});
  return words;
}

Tensor LayerTables::backward(const ConstView& ids, const std::vector<WordsGradient>& dwords,
                             Run& run, Gradients& gradients) const {
  const std::int64_t width = parts_.norm.width(), layers = std::ssize(dwords);
  const ConstView first = dwords.front().states;
  Tensor drows = Tensor::empty({first.dim(0), first.dim(1), layers * width}, first.dtype());
  const View whole = drows;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    copy_elements(dwords[static_cast<std::size_t>(layer)].states,
                  whole.slice(2, layer * width, (layer + 1) * width));
  drows = scaled(std::move(drows), parts_.sum_scale);
  parts_.words.backward(ids, scaled(drows.clone(), parts_.word_scale), gradients);
  const Shape shape = drows.shape();
  drows = std::move(drows).reshaped({shape[0], shape[1], layers, width});
  Tensor projected = parts_.norm.backward(drows, run, gradients);
  projected = scaled(std::move(projected).reshaped(shape), parts_.projection_scale);
  return parts_.projection.backward(projected, run, gradients);
}

void LayerTables::collect(std::vector<Parameter*>& into) {
  parts_.words.collect(into);
  parts_.projection.collect(into);
  parts_.norm.collect(into);
}

Tensor LayerWords::forward(const Tensor& x, const WordsOfLayer& words, Run& run) const {
  Tensor hidden = gate_.forward(x, run);  // [B, T, P]
  Tensor rows = activate(hidden, activation_);
  multiply_by(rows, words.states);
  if (run.saved != nullptr) {
    run.saved->put(std::move(hidden));
    run.saved->put(words.states.share());
  }
  return out_.forward(rows, run);
}

Tensor LayerWords::backward(const Tensor& dy, WordsGradient& dwords, Run& run,
                            Gradients& gradients) const {
  dwords.states = out_.backward(dy, run, gradients);
  const Tensor words = run.saved->take(), hidden = run.saved->take();
  Tensor dhidden = dwords.states.clone();
  multiply_by(dhidden, words);
  multiply_by(dwords.states, activate_backward(hidden, activation_, dhidden));
  return gate_.backward(dhidden, run, gradients);
}

void LayerWords::collect(std::vector<Parameter*>& into) {
  gate_.collect(into);
  out_.collect(into);
}

}  // namespace heed
