// T5 (Raffel et al. 2020): an encoder-decoder without positions but a bias on scores by distance,
// RMSNorm before each branch, no biases; T5 1.1, Flan-T5 and mT5 with a gated MLP. Its encoder
// alone is an encoder like BERT.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/position_bias.h"
#include "nn/residual.h"

namespace heed {

struct T5Config {
  static T5Config read(const Config& config);
  ModelInfo info() const;

  std::string title;
  std::int64_t layers, decoder_layers, heads, width, head_dim, inner, vocabulary;
  std::int64_t buckets, farthest;
  double epsilon, dropout, initial_factor;
  bool gated, causal;
  bool scaled_head;  // states are divided by the root of the width before it
  bool tied;
  bool has_decoder, has_words;
  Activation activation;
  std::int64_t start;
  std::vector<std::int64_t> eos;
  std::vector<std::vector<std::int64_t>> bad_words;
  std::string json;
};

class T5 : public Model {
 public:
  /// Weights are not initialised.
  explicit T5(const T5Config& config);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  Tensor states(const Batch& batch, Run& run) const override;  // of an encoder alone
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  ModelParts parts() const override;
  std::string config_json() const override { return config_.json; }

 private:
  struct Layer {
    Residual<Attention> attention;
    std::optional<Residual<Attention>> cross;  // of the decoder
    Residual<Mlp> mlp;
  };
  // What encoder and decoder both are.
  struct Side {
    std::shared_ptr<PositionBias> bias;  // of all its layers
    std::vector<Layer> layers;
    Norm norm;

    void collect(std::vector<Parameter*>& into);
  };
  static Side make_side(const T5Config& config, Stack stack);
  Tensor encode(const ConstView& ids, Run& run) const;
  void encode_backward(const Tensor& dstates, const ConstView& ids, Run& run,
                       Gradients& gradients) const;
  Tensor decode(const Side& decoder, const Batch& batch, Run& run) const;
  double head_scale() const;

  T5Config config_;
  ModelInfo info_;
  Embedding words_;
  Side encoder_;
  std::optional<Side> decoder_;
  std::optional<Linear> head_;
};

}  // namespace heed
