// An encoder-decoder described by data (Vaswani et al. 2017): an encoder, and a decoder that
// attends to the encoder's states. A family converts its `config.json` to a `Seq2seqShape`. Without
// a decoder it is an encoder like BERT.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "models/config.h"
#include "models/text_pass.h"
#include "nn/embedding.h"
#include "nn/norm.h"
#include "nn/position_bias.h"
#include "ops/elementwise.h"

namespace heed {

/// The names of parameters in files. A part without a name is absent. Names on a side begin with
/// `encoder` or `decoder`; names within a layer with the side, `block`, the layer's number and a
/// dot.
struct Seq2seqNames {
  const char* shared = "model.shared";  // the embeddings of both sides
  const char* encoder = "model.encoder.";
  const char* decoder = "model.decoder.";
  const char* words = "embed_tokens";  // of one side, if not shared
  const char* positions = "";
  const char* embedding_norm = "";
  const char* block = "layers.";
  const char* attention = "self_attn.";
  const char* attention_norm = "self_attn_layer_norm";
  const char* cross = "encoder_attn.";
  const char* cross_norm = "encoder_attn_layer_norm";
  const char* q = "q_proj";  // after `attention` or `cross`
  const char* k = "k_proj";
  const char* v = "v_proj";
  const char* out = "out_proj";
  const char* encoder_mlp = "";  // the prefix of the next four
  const char* decoder_mlp = "";
  const char* mlp_norm = "final_layer_norm";
  const char* gate = "";
  const char* up = "fc1";
  const char* down = "fc2";
  const char* distances = "";  // after `attention`: a bias on scores by distance
  const char* last_norm = "";
  const char* head = "lm_head";
  const char* logit_bias = "";
};

struct Seq2seqShape {
  struct Side {
    std::int64_t layers, heads, inner, vocabulary;
  };
  std::string family, title;
  Seq2seqNames names = {};
  Side encoder = {}, decoder = {};
  std::int64_t width = 0, positions = 0;
  std::int64_t head_dim = 0;  // 0: width / heads
  bool has_decoder = true;
  bool has_words = true;     // false: no language-model head
  bool shared_words = true;  // one embedding table for both sides
  bool tied = true;          // the head is the decoder's embedding table
  bool causal = true;        // of the decoder; the encoder never is

  NormShape norm = {};       // with width `width`
  bool norms_first = false;  // before each branch; else after it
  bool biases = true;        // of linear layers
  PositionRows rows = {};    // in the table of positions, or as the sinusoids' positions
  std::optional<SinusoidShape> sinusoids = {};  // instead of a table
  PositionBiasShape distances = {};             // heads and sides are those of the model
  bool own_distances = false;                   // one per layer; else the first layer's serves all
  std::optional<double> score_scale = {};       // default: 1 / sqrt(head_dim)
  double word_scale = 1, head_scale = 1;        // factors of embeddings, of states before the head
  Activation activation = Activation::kGelu;

  double dropout = 0, attention_dropout = 0;
  UnservedDropout unserved = {};                           // shares that must be 0 for training
  std::function<double(std::string_view)> deviation = {};  // of initial weights, by name
  std::int64_t start = -1;                                 // the decoder's first token
  std::vector<std::int64_t> eos = {};
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::string json = {};  // the configuration as saved

  ModelInfo info() const;
};

/// Reads the configuration of T5 and related models.
Seq2seqShape read_t5(const Config& config);

/// A model whose weights are not initialised.
std::unique_ptr<Model> empty_seq2seq(Seq2seqShape shape);
std::unique_ptr<Model> make_seq2seq(Seq2seqShape shape, std::uint64_t seed);

}  // namespace heed
