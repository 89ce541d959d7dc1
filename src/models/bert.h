// BERT (Devlin et al. 2019) and what is built like it: an encoder with learned positions and token
// types, LayerNorm after each branch and a masked-token head. RoBERTa, DistilBERT, MiniLM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/residual.h"

namespace heed {

/// What the tensors of one `model_type` are called.
struct BertNames {
  const char *words, *positions, *types, *embedding_norm;
  const char* layer;  // "bert.encoder.layer."
  const char *query, *key, *value, *out, *attention_norm, *up, *down, *mlp_norm;
  const char *transform, *transform_norm, *head_bias, *decoder;
};

struct BertConfig {
  static BertConfig read(const Config& config);
  ModelInfo info() const;

  const BertNames* names;
  std::string title;
  std::int64_t layers, heads, width, inner, vocabulary, table_positions, types;
  std::int64_t first_position;  // row of the position table that the first token has
  std::int64_t pad;             // RoBERTa: padding has a row of its own and is not counted; else -1
  double epsilon, dropout, attention_dropout, initial_deviation;
  Activation activation, head_activation;  // of MLPs; before the words
  bool tied;                               // the words of the head are the embedding
  std::string json;
  bool masked_token_head = true;  // false: the file has none
};

class Bert : public Model {
 public:
  /// Weights are not initialised.
  explicit Bert(const BertConfig& config);

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
  std::string config_json() const override { return config_.json; }

 private:
  struct Block {
    Residual<Attention> attention;
    Residual<Mlp> mlp;
  };
  struct Head {
    Linear transform;
    Norm norm;
    Linear words;
    Bias bias;
  };
  static Block make_block(const BertConfig& config, int layer);
  static Head make_head(const BertConfig& config, const Embedding& words);
  Tensor positions_of(const ConstView& ids) const;
  Tensor types_of(const Batch& batch) const;

  BertConfig config_;
  ModelInfo info_;
  Embedding words_;
  Embedding positions_;
  std::optional<Embedding> types_;
  Norm norm_;
  DropoutLayer dropout_;
  std::vector<Block> blocks_;
  std::optional<Head> head_;
};

}  // namespace heed
