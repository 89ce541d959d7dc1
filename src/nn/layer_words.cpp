#include "nn/layer_words.h"

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

void LayerTables::collect(std::vector<Parameter*>& into) {
  parts_.words.collect(into);
  parts_.projection.collect(into);
  parts_.norm.collect(into);
}

Tensor LayerWords::forward(const Tensor& x, const WordsOfLayer& words, Run& run) const {
  Tensor rows = activate(gate_.forward(x, run), activation_);  // [B, T, P]
  multiply_by(rows, words.states);
  return out_.forward(rows, run);
}

void LayerWords::collect(std::vector<Parameter*>& into) {
  gate_.collect(into);
  out_.collect(into);
}

}  // namespace heed
