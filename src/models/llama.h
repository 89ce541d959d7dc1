// Llama (Touvron et al. 2023) and what is built like it: a decoder with rotary positions, RMSNorm
// before each branch, SwiGLU and shared keys. Llama 2 and 3, Mistral, Qwen2 and 3, SmolLM,
// TinyLlama.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/gated_mlp.h"
#include "nn/linear.h"
#include "nn/residual.h"
#include "nn/rms_norm.h"

namespace heed {

struct LlamaConfig {
  static LlamaConfig read(const Config& config);
  ModelInfo info() const;
  std::string title() const;

  std::string model_type;
  std::int64_t layers, heads, kv_heads, width, head_dim, inner, vocabulary, positions;
  RopeScaling rope;
  std::vector<std::int64_t> windows;  // keys that a query of each layer sees; 0: all before it
  double epsilon, initial_deviation, attention_dropout;
  bool qkv_bias, out_bias, mlp_bias, head_norms, tied;
  Activation activation;
  std::int64_t bos;  // -1: none
  std::vector<std::int64_t> eos;
  std::string json;
};

class Llama : public Model {
 public:
  /// Weights are not initialised.
  explicit Llama(const LlamaConfig& config);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  std::string config_json() const override { return config_.json; }

 private:
  struct Block {
    Residual<RmsNorm, Attention> attention;
    Residual<RmsNorm, GatedMlp> mlp;
  };
  static Block make_block(const LlamaConfig& config, int layer,
                          const std::shared_ptr<const Rotation>& rotation);

  LlamaConfig config_;
  ModelInfo info_;
  Embedding tokens_;
  std::vector<Block> blocks_;
  RmsNorm norm_;
  Linear head_;
};

}  // namespace heed
