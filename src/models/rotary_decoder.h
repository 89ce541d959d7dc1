// A decoder with rotary positions, RMSNorm and gated MLPs: what Llama, its kin and Gemma 2 share.
// A family reads its configuration and makes the parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/models/model.h"
#include "models/stored_weights.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/gated_mlp.h"
#include "nn/linear.h"
#include "nn/residual.h"
#include "nn/rms_norm.h"
#include "nn/rope_scaling.h"

namespace heed {

class RotaryDecoder : public Model {
 public:
  struct Block {
    Residual<RmsNorm, Attention> attention;
    Residual<RmsNorm, GatedMlp> mlp;
  };

  struct Parts {
    ModelInfo info;
    std::string config_json;
    Embedding tokens;
    double embedding_scale = 1;
    DropoutLayer dropout = {};  // of the embedding
    std::vector<Block> blocks;
    RmsNorm norm;
    std::optional<Linear> head;  // none: the model has no words
    bool tied;                   // the head is the table of `tokens`
    double logit_cap = 0;        // 0: none
  };

  /// Weights are not initialised.
  explicit RotaryDecoder(Parts parts) : parts_(std::move(parts)) {}

  const ModelInfo& info() const override { return parts_.info; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  Tensor states(const Batch& batch, Run& run) const override;
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  ModelParts parts() const override;
  std::string config_json() const override { return parts_.config_json; }

 private:
  Tensor logits(const Tensor& last, Run& run) const;

  Parts parts_;
};

/// Extents and biases of a block.
struct RotaryBlockShape {
  std::int64_t width, heads, kv_heads, head_dim, inner;
  bool qkv_bias, out_bias, mlp_bias;
  double dropout = 0;  // of what a branch adds, in training
};

/// "model.layers.3."
std::string rotary_block_name(int layer);
/// A block's attention without norms of queries and keys, and its MLP, by the hub's names.
AttentionParts rotary_attention(const RotaryBlockShape& shape, int layer,
                                std::shared_ptr<const Rotation> rotation);
GatedMlp rotary_mlp(const RotaryBlockShape& shape, int layer, Activation activation);

/// The blocks of all layers, which turn queries and keys alike.
using MakeRotaryBlock =
    std::function<RotaryDecoder::Block(int layer, const std::shared_ptr<const Rotation>& rotation)>;
std::vector<RotaryDecoder::Block> rotary_blocks(std::int64_t layers, const RopeScaling& rope,
                                                const MakeRotaryBlock& make);

/// Refuses a folder whose first table or whose last layer has other sizes than `info` tells, before
/// memory is taken. `inner`: the width of an MLP's hidden layer.
void require_rotary_decoder(const StoredWeights& stored, const ModelInfo& info, std::int64_t inner);

}  // namespace heed
