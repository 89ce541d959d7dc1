// An encoder described by data: BERT (Devlin et al. 2019) and related models. A family converts its
// `config.json` to an `EncoderShape`, which lists its parts and their names in files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "models/config.h"
#include "models/text_pass.h"
#include "nn/norm.h"
#include "nn/position_bias.h"
#include "nn/rotation.h"
#include "ops/elementwise.h"

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
  UnservedDropout unserved = {};  // shares that must be 0 for training
  double deviation = 0.02;        // of initial weights
  std::string json = {};          // the configuration as saved

  ModelInfo info() const;
};

/// A model whose weights are not initialised.
std::unique_ptr<Model> empty_encoder(EncoderShape shape);

/// A `model_type`: names of its tensors, keys of its config.json, and transformers' defaults for
/// absent keys. A null key does not exist, so its default applies.
struct EncoderKin {
  std::string_view model_type;
  const char *title, *architecture;
  EncoderNames names = {};
  const char* layers_key = "num_hidden_layers";
  const char* heads_key = "num_attention_heads";
  const char* width_key = "hidden_size";
  const char* inner_key = "intermediate_size";
  const char* activation_key = "hidden_act";
  const char* dropout_key = "hidden_dropout_prob";
  const char* attention_dropout_key = "attention_probs_dropout_prob";
  const char* epsilon_key = "layer_norm_eps";
  const char* types_key = "type_vocab_size";
  const char* embedded_key = nullptr;  // width of the embeddings; null: the model's width
  std::int64_t layers = 12, heads = 12, width = 768, inner = 3072, vocabulary = 30522;
  std::int64_t positions = 512, types = 2;
  const char* activation = "gelu";
  double epsilon = 1e-12, dropout = 0.1;
  bool counts_past_padding = false;  // positions begin in the row after the padding's
  std::int64_t padding = -1;         // the padding id for that; -1: pad_token_id
  /// Reads the family's other settings; may be null.
  void (*more)(const Config& config, EncoderShape& shape) = nullptr;
};

std::span<const EncoderKin> all_encoder_kin();

}  // namespace heed
