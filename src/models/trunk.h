// The way of tokens through a model: the sum of their embeddings, the layers, the last norm.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/experts.h"
#include "nn/layer_words.h"
#include "nn/residual.h"
#include "nn/rotation.h"

namespace heed {

struct TrunkLayer {
  Residual<Mixer> attention;
  std::optional<Residual<Attention>> cross = {};  // between the two, in an encoder-decoder
  std::optional<Residual<FeedForward>> mlp = {};
  std::optional<Residual<LayerWords>> words = {};  // after the MLP, if the trunk has `layer_tables`
  bool is_first = true;                            // of the layers that share its parameters
};

/// The one of a decoder or encoder, or that of one side of an encoder-decoder.
struct Trunk {
  Stack stack = Stack::kSelf;
  Embedding words;
  bool owns_words = true;                      // false: another trunk collects the table
  std::optional<Linear> word_projection = {};  // from the width of words to the stream's
  double word_scale = 1;
  std::optional<Embedding> positions = {};
  PositionRows rows = {};
  std::optional<SinusoidShape> sinusoids = {};  // instead of `positions`
  std::optional<Embedding> types = {};
  std::optional<Norm> embedding_norm = {};
  DropoutLayer dropout = {};
  std::optional<LayerTables> layer_tables = {};
  std::optional<Linear> projection = {};       // of the sum, after its norm and dropout
  std::optional<Linear> head_projection = {};  // to the width of words, which the head applies
  std::vector<std::shared_ptr<PositionBias>> distances = {};
  bool parallel = false;  // attention and MLP both read the layer's input
  std::vector<TrunkLayer> layers = {};
  std::optional<Norm> last_norm = {};

  /// The states after the last norm [B, T, C]. Cross-attentions read `source`.
  Tensor forward(const Batch& batch, Run& run, const Source& source = {}) const;
  /// Adds the gradient of the source's states to `dsource`.
  void backward(const Tensor& dstates, const Batch& batch, Run& run, Gradients& gradients,
                const Source& source = {}, Tensor* dsource = nullptr) const;
  /// Applies the last norm to another layer's stream.
  Tensor normed(const Tensor& stream, Run& run) const {
    return last_norm ? last_norm->forward(stream, run) : stream.share();
  }
  void collect(std::vector<Parameter*>& into);
  Parameter* position_table() { return positions ? positions->table().get() : nullptr; }
  StreamParts parts() const;

 private:
  Tensor embedded(const Batch& batch, Run& run) const;
};

std::vector<std::shared_ptr<const Rotation>> rotations_of(std::span<const RopeScaling> scalings);

}  // namespace heed
