// Gemma 2 (Gemma team 2024): a decoder with rotary positions, norms before and inside of each
// branch, gated GELU, windows in every other layer, and soft caps on scores and logits.
#pragma once

#include <cstdint>
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

struct Gemma2Config {
  static Gemma2Config read(const Config& config);
  ModelInfo info() const;

  std::int64_t layers, heads, kv_heads, width, head_dim, inner, vocabulary, positions;
  RopeScaling rope;
  std::vector<bool> slides;  // layers with a window
  std::int64_t window;
  double query_scale, score_cap, logit_cap;  // caps: 0: none
  double epsilon, initial_deviation, attention_dropout;
  bool bias;
  std::int64_t bos;  // -1: none
  std::vector<std::int64_t> eos;
  std::string json;
};

class Gemma2 : public Model {
 public:
  /// Weights are not initialised.
  explicit Gemma2(const Gemma2Config& config);

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
  static Block make_block(const Gemma2Config& config, int layer,
                          const std::shared_ptr<const Rotation>& rotation);

  Gemma2Config config_;
  ModelInfo info_;
  Embedding tokens_;
  std::vector<Block> blocks_;
  RmsNorm norm_;
  Linear head_;
};

}  // namespace heed
