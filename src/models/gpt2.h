// GPT-2 (Radford et al. 2019): a decoder with learned positions, layer norms before each branch and
// GELU. GPT-2 of all sizes, DistilGPT-2, nanoGPT.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/io/safetensors.h"
#include "heed/models/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/residual.h"

namespace heed {

struct Gpt2Config {
  static Gpt2Config read(const Config& config);
  ModelInfo info() const;
  std::string to_json() const;

  std::int64_t layers, heads, width, inner, vocabulary, positions;
  Activation activation;
  std::string activation_name;
  double epsilon, embedding_dropout, residual_dropout, attention_dropout;
  double initial_deviation;  // of fresh weights
  bool scale_by_head_dim, scale_by_layer, tied, causal;
  std::int64_t bos;  // -1: none
  std::vector<std::int64_t> eos;
  std::vector<std::vector<std::int64_t>> bad_words;
};

class Gpt2 : public Model {
 public:
  /// Weights are not initialised.
  explicit Gpt2(const Gpt2Config& config);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  Tensor states(const Batch& batch, Run& run) const override;
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  ModelParts parts() const override;
  Parameter* position_table() override { return positions_.table().get(); }
  std::string config_json() const override { return config_.to_json(); }

  /// Normal with `initializer_range`, into the residual stream / sqrt(2 L), biases 0, norms 1; each
  /// parameter from a stream of its own name.
  void initialise(std::uint64_t seed);

 private:
  struct Block {
    Residual<LayerNorm, Attention> attention;
    Residual<LayerNorm, Mlp> mlp;
  };
  static Block make_block(const Gpt2Config& config, int layer);

  Gpt2Config config_;
  ModelInfo info_;
  Embedding tokens_;
  Embedding positions_;
  DropoutLayer dropout_;
  std::vector<Block> blocks_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace heed
