// A decoder that is described by data. A family reads its `config.json` into a `DecoderShape`, and
// says there which parts it has and what files call them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "models/family.h"
#include "models/rope_config.h"
#include "models/stored_weights.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/experts.h"
#include "nn/residual.h"

namespace heed {

/// What files call the parameters. A part without a name is absent. Those of a layer begin with
/// `block`, the layer's number and a dot.
struct DecoderNames {
  const char* prefix = "model.";  // what files of the bare decoder leave out
  const char* tokens = "model.embed_tokens";
  const char* positions = "";
  const char* embedding_norm = "";
  const char* block = "model.layers.";
  const char* attention_norm = "input_layernorm";
  const char* attention_inside = "";  // the norm of what the attention adds
  const char* qkv = "";               // one projection; else q, k and v
  const char* q = "self_attn.q_proj";
  const char* k = "self_attn.k_proj";
  const char* v = "self_attn.v_proj";
  const char* q_norm = "";
  const char* k_norm = "";
  const char* sinks = "";
  const char* out = "self_attn.o_proj";
  const char* mlp_norm = "post_attention_layernorm";
  const char* mlp_inside = "";
  const char* gate = "mlp.gate_proj";
  const char* up = "mlp.up_proj";
  const char* down = "mlp.down_proj";
  const char* router = "mlp.gate";  // of layers with experts; the others have gate, up and down
  const char* experts = "mlp.experts.";   // with an expert's number and a dot before the next three
  const char* expert_gate = "gate_proj";  // not given: `expert_up` holds it, in turn
  const char* expert_up = "up_proj";
  const char* expert_down = "down_proj";
  const char* shared = "";  // the same of an MLP for all tokens: "mlp.shared_expert."
  const char* shared_gate = "";
  const char* last_norm = "model.norm";
  const char* head = "lm_head";
};

/// The settings that may differ from layer to layer.
struct DecoderLayer {
  std::int64_t window = 0;                  // keys that a query sees; 0: all before it
  std::optional<std::size_t> rotation = 0;  // of `DecoderShape::rotations`; none: without positions
  double scale = 1;                         // of scores
  bool has_experts = false;                 // in the place of one MLP
};

struct ExpertsShape {
  std::int64_t count = 0;   // in each layer that has some
  std::int64_t chosen = 0;  // for a token
  std::int64_t inner = 0, shared_inner = 0;
  bool sums_to_one = true;  // ExpertsParts::sums_to_one
  bool bias = false;        // of the router, too
  double limit = 0;         // MlpParts::limit
  bool stacked = false;  // files have all experts of a layer in one tensor, named without an ending

  WeightLayout layout() const { return stacked ? WeightLayout::kInOut : WeightLayout::kOutIn; }
};

struct DecoderShape {
  std::string family, title;
  DecoderNames names = {};
  std::int64_t layers = 0, heads = 0, kv_heads = 0, width = 0, head_dim = 0, inner = 0;
  std::int64_t vocabulary = 0, positions = 0;

  double embedding_scale = 1;
  std::int64_t first_position = 0;  // row of the table of positions that the first token has
  NormShape norm = {};              // of the stream; its width is `width`
  NormShape head_norm = {};         // of queries and keys: of each head, or of all by its width
  std::vector<RopeScaling> rotations = {};
  bool alibi = false;  // scores fall with the distance, by a slope of each head
  std::vector<DecoderLayer> of_layers = {};
  WeightLayout layout = WeightLayout::kOutIn;
  bool by_head = false;  // AttentionShape::by_head
  bool qkv_bias = false, out_bias = false, mlp_bias = false, head_bias = false;
  double clip = 0;       // AttentionShape::clip
  double score_cap = 0;  // 0: none
  Activation activation = Activation::kSilu;
  bool up_holds_gate = false;  // MlpParts::holds_gate
  ExpertsShape experts = {};
  bool parallel = false;    // attention and MLP both read the block's input, through one norm where
                            // the MLP's has no name (Wang & Komatsuzaki 2021)
  double branch_scale = 1;  // of what attention and MLP add to the stream
  double logit_scale = 1, logit_cap = 0;  // cap 0: none
  bool causal = true;
  bool tied = false;       // the head is the table of tokens
  bool has_words = true;   // false: the decoder has no language-model head
  bool keeps_tie = false;  // the head is tied whatever the file holds

  double embedding_dropout = 0, dropout = 0, attention_dropout = 0;  // `dropout`: of what is added
  double deviation = 0.02;                                           // of fresh weights
  std::optional<double> into_stream = {};       // of those that write into the stream, if another
  std::vector<std::string_view> unused = {};    // Spelling::unused
  std::vector<std::string_view> wrappers = {};  // Spelling::wrappers
  const char* other_head = "";                  // what some files call names.head
  // A dropout that the configuration asks for and that heed does not have: training is refused.
  const char* unserved_dropout_key = "";
  double unserved_dropout = 0;

  std::int64_t bos = -1;  // -1: none
  std::vector<std::int64_t> eos = {};
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::string json = {};  // the configuration as it is saved

  ModelInfo info() const;
};

/// Positions that scale with the text's length have no longest one; this bounds memory.
inline constexpr std::int64_t kAnyLength = std::int64_t{1} << 20;

/// The keys that the configurations of nearly all decoders share, and the values that apply where a
/// key is absent.
struct UsualKeys {
  std::int64_t layers, heads;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t width;
  std::int64_t head_dim = 0;  // 0: width / heads
  std::int64_t inner = 0;     // 0: 4 width
  std::int64_t vocabulary, positions;
  const char* layers_key = "num_hidden_layers";
  const char* heads_key = "num_attention_heads";
  const char* width_key = "hidden_size";
  const char* inner_key = "intermediate_size";  // null: the family has no such key
  const char* positions_key = "max_position_embeddings";
  const char* activation_key = "hidden_act";  // null: the family has no such key
  const char* activation = "silu";
  const char* epsilon_key = "rms_norm_eps";
  double epsilon = 1e-6;
  bool heads_alike = false;  // `num_key_value_heads` and `head_dim` are not keys of the family
  bool tied = false;
  std::int64_t bos = -1;
  std::vector<std::int64_t> eos = {};
};
/// Reads sizes, epsilon, activation, words and special tokens; one layer like the other, with
/// scores over the root of head_dim.
void read_usual(const Config& config, const UsualKeys& usual, DecoderShape& shape);
/// One rotation for all layers.
void read_rotation(const Config& config, DecoderShape& shape, RopeKeys keys = {});
/// Reads two rotations: one for layers with a window (`slides`) and one for the others. Each has an
/// entry of its own in `rope_parameters`; `base` and `local_base` apply where that has no base.
void read_two_rotations(const Config& config, double base, double local_base,
                        const std::vector<bool>& slides, DecoderShape& shape);
/// Gives the layers of `slides` the window of `sliding_window`.
void read_windows(const Config& config, std::int64_t otherwise, const std::vector<bool>& slides,
                  DecoderShape& shape);
/// Gives all layers the window of `sliding_window`, where the configuration has one.
void read_window_of_all(const Config& config, DecoderShape& shape);
/// Refuses the list of `key` unless it is absent or has an entry for each layer.
void require_one_per_layer(const Config& config, const char* key, std::ptrdiff_t entries,
                           std::int64_t layers);
/// Returns whether each layer has a window: by `layer_types`, or `otherwise` where the list is
/// absent.
std::vector<bool> sliding_layers(const Config& config, std::vector<bool> otherwise);
/// All layers but every `every`-th.
std::vector<bool> all_but_every(std::int64_t layers, std::int64_t every);

/// A config.json for a training run, of a family that calls its sizes so.
struct TrainingKeys {
  bool gated = true;  // three matrices in the place of two: as many parameters as 4 C has without
  bool names_kv_heads = false;  // `num_key_value_heads` has another default than the heads
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* width = "hidden_size";
  const char* inner = "intermediate_size";
  const char* positions = "max_position_embeddings";
  const char* attention_dropout = "attention_dropout";
  std::vector<const char*> dropouts = {};  // of what is added; none: it has no such dropout
};
Json usual_training_config(const TrainingShape& shape, const TrainingKeys& keys);
inline Json plain_training_config(const TrainingShape& shape) {
  return usual_training_config(shape, {});
}

class Decoder : public Model {
 public:
  /// Weights are not initialised.
  explicit Decoder(DecoderShape shape);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  Tensor states(const Batch& batch, Run& run) const override;
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  Parameter* position_table() override { return positions_ ? positions_->table().get() : nullptr; }
  ModelParts parts() const override;
  std::string config_json() const override { return shape_.json; }

  /// Normal with the shape's deviations, biases 0, norms' scales 1; each parameter from a stream of
  /// its own name.
  void initialise(std::uint64_t seed);

 private:
  struct Block {
    Residual<Attention> attention;
    Residual<FeedForward> mlp;
  };
  Block make_block(int layer, std::span<const std::shared_ptr<const Rotation>> rotations) const;
  Attention make_attention(int layer,
                           std::span<const std::shared_ptr<const Rotation>> rotations) const;
  FeedForward make_feed_forward(int layer) const;
  Mlp make_mlp(int layer) const;
  Experts make_experts(int layer) const;
  std::optional<Norm> norm(const std::string& block, const char* name) const;
  std::optional<Norm> norm_inside(const std::string& block, const char* name) const;
  Linear linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) const;
  std::optional<Linear> make_head() const;
  Tensor position_ids(const Batch& batch, const Run& run) const;
  Tensor logits(const Tensor& last, Run& run) const;

  DecoderShape shape_;
  ModelInfo info_;
  Embedding tokens_;
  std::optional<Embedding> positions_;
  std::optional<Norm> embedding_norm_;
  DropoutLayer dropout_;
  std::vector<Block> blocks_;
  std::optional<Norm> norm_;
  std::optional<Linear> head_;  // none: the model has no words
};

std::unique_ptr<Model> make_decoder(DecoderShape shape, std::uint64_t seed);
std::unique_ptr<Model> load_decoder(DecoderShape shape, const Weights& weights,
                                    const Reading& reading);

/// A family of decoders whose configurations `kRead` reads.
template <DecoderShape (*kRead)(const Config&)>
Family decoder_family(std::vector<std::string_view> model_types,
                      Json (*training_config)(const TrainingShape&) = plain_training_config) {
  return {
      .model_types = std::move(model_types),
      .describe = [](const Config& config) { return kRead(config).info(); },
      .make = [](const Config& config,
                 std::uint64_t seed) { return make_decoder(kRead(config), seed); },
      .load = [](const Config& config, const Weights& weights,
                 const Reading& reading) { return load_decoder(kRead(config), weights, reading); },
      .training_config = training_config,
      .shape = kRead};
}

}  // namespace heed
