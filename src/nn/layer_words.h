// A second embedding of the tokens, with rows for each layer, which every layer adds to its stream
// through a gate ("per-layer embeddings" of Gemma 3n and 4).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/elementwise.h"

namespace heed {

/// The rows of one layer.
struct WordsOfLayer {
  Tensor states;  // [B, T, P]
};

/// The gradient of those rows.
struct WordsGradient {
  Tensor states;
};

struct LayerTablesParts {
  Embedding words;  // [V, layers P]
  double word_scale = 1;
  Linear projection;  // of the embedded tokens, C -> layers P
  double projection_scale = 1;
  Norm norm;  // of the projection, with width P
  double sum_scale = 1;
};

/// rows = sum_scale (norm(projection_scale projection(x)) + word_scale words[id]).
class LayerTables {
 public:
  explicit LayerTables(LayerTablesParts parts) : parts_(std::move(parts)) {}

  /// For tokens ids [B, T], embedded as x [B, T, C]: one entry per layer.
  std::vector<WordsOfLayer> forward(const ConstView& ids, const Tensor& x, Run& run) const;
  /// Returns dx.
  Tensor backward(const ConstView& ids, const std::vector<WordsGradient>& dwords, Run& run,
                  Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  LayerTablesParts parts_;
};

/// y = out(f(gate x) * rows).
class LayerWords {
 public:
  LayerWords(Linear gate, Activation activation, Linear out)
      : gate_(std::move(gate)), activation_(activation), out_(std::move(out)) {}

  Tensor forward(const Tensor& x, const WordsOfLayer& words, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, WordsGradient& dwords, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  Linear gate_;  // C -> P
  Activation activation_;
  Linear out_;  // P -> C
};

}  // namespace heed
