// An encoder described by data: BERT (Devlin et al. 2019) and related models. A family converts its
// `config.json` to an `EncoderShape`, which lists its parts and their names in files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "models/config.h"
#include "models/text_pass.h"
#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/position_bias.h"
#include "nn/residual.h"
#include "nn/rotation.h"

namespace heed {

/// The names of parameters in files. A part without a name is absent. Names outside the head begin
/// with `stem`, which files of the bare encoder omit; names within a layer begin with the layer's
/// name.
struct EncoderNames {
  const char* stem = "bert.";
  const char* words = "embeddings.word_embeddings";
  const char* positions = "embeddings.position_embeddings";
  const char* types = "embeddings.token_type_embeddings";
  const char* embedding_norm = "embeddings.LayerNorm";
  const char* projection = "";  // from embeddings to the stream
  const char* distances = "";   // a bias by distance, shared by all layers
  const char* layer = "encoder.layer.";
  const char* qkv = "";  // one projection; else q, k and v are separate
  const char* q = "attention.self.query";
  const char* k = "attention.self.key";
  const char* v = "attention.self.value";
  const char* out = "attention.output.dense";
  const char* attention_norm = "attention.output.LayerNorm";
  const char* gate = "";
  const char* up = "intermediate.dense";
  const char* down = "output.dense";
  const char* mlp_norm = "output.LayerNorm";
  const char* last_norm = "";
  const char* transform = "cls.predictions.transform.dense";
  const char* transform_norm = "cls.predictions.transform.LayerNorm";
  const char* head_bias = "cls.predictions.bias";  // with a tied vocabulary; else the decoder's
  const char* decoder = "cls.predictions.decoder";
};

/// The settings that may differ between layers.
struct EncoderLayer {
  std::string name;  // ends with a dot; layers with the same name share parameters
  bool attention_norm = true;
  std::int64_t window = 0;                   // keys that a query sees on each side; 0: all
  std::optional<std::size_t> rotation = {};  // index into `EncoderShape::rotations`
};

struct EncoderShape {
  std::string title;
  EncoderNames names = {};
  std::int64_t heads = 0, width = 0, head_dim = 0, inner = 0, vocabulary = 0;
  std::int64_t positions = 0;  // of the longest text
  std::int64_t types = 0;
  std::int64_t embedded = 0;  // width of the embeddings; if not `width`, needs a projection
  PositionRows rows = {};     // of the table of positions
  std::vector<EncoderLayer> of_layers = {};

  NormShape norm = {};       // its width is the rows' width
  bool norms_first = false;  // before each branch; else after it
  std::vector<RopeScaling> rotations = {};
  PositionBiasShape distances = {};
  bool attention_bias = true, mlp_bias = true, transform_bias = true, decoder_bias = true;
  bool up_holds_gate = false;                      // MlpParts::holds_gate
  Activation activation = Activation::kGelu;       // of MLPs
  Activation head_activation = Activation::kGelu;  // before the vocabulary layer
  bool tied = true;                                // the vocabulary layer is the embedding
  bool masked_token_head = true;                   // false: no head

  double embedding_dropout = 0, dropout = 0, attention_dropout = 0;
  std::vector<std::pair<const char*, double>> unserved = {};  // shares that must be 0 for training
  double deviation = 0.02;                                    // of initial weights
  std::string json = {};                                      // the configuration as saved

  ModelInfo info() const;
};

class Encoder : public Model {
 public:
  /// Weights are not initialised.
  explicit Encoder(EncoderShape shape);

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
  Parameter* position_table() override { return positions_ ? positions_->table().get() : nullptr; }
  std::string config_json() const override { return shape_.json; }

 private:
  struct Block {
    Residual<Attention> attention;
    Residual<Mlp> mlp;
    bool is_first;  // of the blocks that share its parameters
  };
  struct Head {
    Linear transform;
    Norm norm;
    Linear words;
    std::optional<Bias> bias;
  };
  Norm norm(const std::string& name, std::int64_t width) const;
  AttentionParts attention_parts(const EncoderLayer& layer,
                                 std::span<const std::shared_ptr<const Rotation>> rotations) const;
  MlpParts mlp_parts(const EncoderLayer& layer) const;
  Norms norms(const EncoderLayer& layer, const char* name) const;
  Block make_block(int layer, std::span<const std::shared_ptr<const Rotation>> rotations) const;
  Head make_head() const;
  Tensor logits(const Head& head, const Tensor& last, Run& run) const;
  Tensor types_of(const Batch& batch) const;

  EncoderShape shape_;
  ModelInfo info_;
  Embedding words_;
  std::optional<Embedding> positions_;
  std::optional<Embedding> types_;
  Norm embedding_norm_;
  DropoutLayer dropout_;
  std::optional<Linear> projection_;
  std::shared_ptr<PositionBias> distances_;
  std::vector<Block> blocks_;
  std::optional<Norm> last_norm_;
  std::optional<Head> head_;
};

}  // namespace heed
