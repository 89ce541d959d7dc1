// A decoder described by data. A family converts its `config.json` to a `DecoderShape`, which lists
// its parts and their names in files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "models/family.h"
#include "models/rope_config.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"
#include "models/training_config.h"
#include "nn/delta_rule.h"
#include "nn/norm.h"
#include "nn/rotation.h"
#include "ops/elementwise.h"

namespace heed {

/// The names of parameters in files. A part without a name is absent. Names within a layer begin
/// with `block`, the layer's number and a dot.
struct DecoderNames {
  const char* prefix = "model.";  // omitted in files of the bare decoder
  const char* tokens = "model.embed_tokens";
  const char* positions = "";
  const char* embedding_norm = "";
  const char* project_in = "";  // from the width of words to the stream's, and back before the head
  const char* project_out = "";
  const char* block = "model.layers.";
  const char* attention_norm = "input_layernorm";
  const char* attention_inside = "";  // norm of the attention's output
  const char* qkv = "";               // one projection; else q, k and v are separate
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
  const char* router = "mlp.gate";  // in layers with experts; the others have gate, up and down
  const char* experts = "mlp.experts.";   // followed by the number, a dot and the next three
  const char* expert_gate = "gate_proj";  // absent: interleaved in `expert_up`
  const char* expert_up = "up_proj";
  const char* expert_down = "down_proj";
  const char* shared = "";  // of an MLP for all tokens: "mlp.shared_expert."
  const char* shared_gate = "";
  DeltaRuleNames delta_rule = {};
  const char* layer_scalar = "";  // a number that scales the stream after the layer
  const char* layer_tables = "";  // words of each layer, their projection and its norm
  const char* layer_tables_projection = "";
  const char* layer_tables_norm = "";
  const char* layer_words_gate = "";  // in a layer: what adds its words
  const char* layer_words_out = "";
  const char* layer_words_inside = "";
  const char* last_norm = "model.norm";
  const char* head = "lm_head";
};

/// The settings that may differ between layers.
struct DecoderLayer {
  std::int64_t window = 0;                  // keys that a query sees; 0: all earlier keys
  std::optional<std::size_t> rotation = 0;  // `DecoderShape::rotations`'s index; none: no positions
  double scale = 1;                         // of scores
  bool has_experts = false;                 // instead of one MLP
  bool is_recurrent = false;                // a gated delta rule instead of attention
  // 0: those of the decoder.
  std::int64_t kv_heads = 0, head_dim = 0, inner = 0;
  std::optional<int> keys_from = {};  // AttentionShape::keys_from
  bool keys_are_values = false;       // AttentionShape::keys_are_values
};

struct ExpertsShape {
  std::int64_t count = 0;   // per layer with experts
  std::int64_t chosen = 0;  // per token
  std::int64_t inner = 0, shared_inner = 0;
  bool sums_to_one = true;  // ExpertsParts::sums_to_one
  bool bias = false;        // also the router's
  double limit = 0;         // MlpParts::limit
  bool stacked = false;     // files store all experts of a layer in one tensor, without an ending

  WeightLayout layout() const { return stacked ? WeightLayout::kInOut : WeightLayout::kOutIn; }
};

/// Whether all heads share one norm of queries or keys, or each has its own weights: in files as
/// "q_norm.norms.3.weight", or stacked as "q_norm.weight" [heads, D].
enum class HeadNorms : std::uint8_t { kShared, kOwn, kStacked };

struct DecoderShape {
  std::string family, title;
  DecoderNames names = {};
  std::int64_t layers = 0, heads = 0, kv_heads = 0, width = 0, head_dim = 0;
  std::int64_t inner = 0;  // of an MLP; 0: layers have none
  std::int64_t vocabulary = 0, positions = 0;
  std::int64_t word_width = 0;  // of the table of words, where it is projected; 0: `width`

  double embedding_scale = 1;
  std::int64_t layer_words = 0;  // width of the words of each layer
  std::int64_t layer_vocabulary = 0;
  std::int64_t first_position = 0;  // the first token's row in the table of positions
  NormShape norm = {};              // of the stream, with width `width`
  NormShape head_norm = {};         // of queries and keys: per head or over all heads, by width
  HeadNorms head_norms = HeadNorms::kShared;
  bool norms_values = false;  // values have norms like keys, but without weights
  std::vector<RopeScaling> rotations = {};
  bool alibi = false;         // scores decrease with distance, with a slope per head
  bool rounds_alibi = false;  // AttentionShape::rounds_slopes
  std::vector<DecoderLayer> of_layers = {};
  WeightLayout layout = WeightLayout::kOutIn;
  bool by_head = false;  // AttentionShape::by_head
  bool gated = false;    // AttentionShape::gated
  bool qkv_bias = false, out_bias = false, mlp_bias = false, head_bias = false;
  double clip = 0;       // AttentionShape::clip
  double score_cap = 0;  // 0: no cap
  Activation activation = Activation::kSilu;
  bool up_holds_gate = false;  // MlpParts::holds_gate
  ExpertsShape experts = {};
  DeltaRuleShape delta_rule = {};
  bool norms_behind = false;  // x = norm(x + branch(x)), as in the original Transformer
  bool parallel = false;      // attention and MLP both read the block's input, through one norm if
                              // the MLP's has no name (Wang & Komatsuzaki 2021)
  bool residual = true;       // branches are added to the stream, or replace it
  double branch_scale = 1;    // factor of what attention and MLP add to the stream
  double logit_scale = 1, logit_cap = 0;  // cap 0: no cap
  bool causal = true;
  bool tied = false;               // the head is the embedding table
  bool has_words = true;           // false: no language-model head
  bool states_are_logits = false;  // of a model without a head
  bool keeps_tie = false;          // the head is tied whatever the file contains

  double embedding_dropout = 0, dropout = 0, attention_dropout = 0;  // `dropout`: of branch outputs
  double deviation = 0.02;                                           // of initial weights
  std::optional<double> into_stream = {};       // for weights that write into the stream
  std::vector<std::string_view> unused = {};    // Spelling::unused
  std::vector<std::string_view> wrappers = {};  // Spelling::wrappers
  const char* other_head = "";                  // alternative name of names.head
  UnservedDropout unserved = {};                // shares that must be 0 for training

  std::int64_t bos = -1;  // -1: none
  std::vector<std::int64_t> eos = {};
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::string json = {};  // the configuration as saved

  ModelInfo info() const;
  bool has_recurrence() const;
  std::int64_t width_of_words() const { return word_width == 0 ? width : word_width; }
  /// The settings of a layer, with its own sizes or those of the decoder.
  DecoderLayer of_layer(int layer) const;
};

/// The limit for positions without a maximal length; it bounds memory.
inline constexpr std::int64_t kAnyLength = std::int64_t{1} << 20;

/// The keys that nearly all decoder configurations share, and their defaults.
struct UsualKeys {
  std::int64_t layers, heads;
  std::int64_t kv_heads = 0;  // 0: same as heads
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
  const char* epsilon_key = "rms_norm_eps";  // this one: norms subtract no mean
  double epsilon = 1e-6;
  bool heads_alike = false;  // the family has no `num_key_value_heads` and `head_dim`
  bool tied = false;
  std::int64_t bos = -1;
  std::vector<std::int64_t> eos = {};
};
/// Reads sizes, epsilon, activation, vocabulary and special tokens. All layers are alike, with
/// scores divided by the root of head_dim.
void read_usual(const Config& config, const UsualKeys& usual, DecoderShape& shape);
/// The text decoder of a model that also reads pictures, saved as a model of its own.
struct TextPart {
  const char* model_type;
  const char* architecture;
  std::vector<std::string_view> unused;  // tensors of the other parts
  bool has_tied = false;                 // the whole model says whether the head is tied
};
/// Reads the model's `text_config` by `read`, and its special tokens.
DecoderShape read_text_part(const Config& config, const TextPart& part,
                            const std::function<DecoderShape(const Config& text)>& read);
/// Reads one rotation for all layers.
void read_rotation(const Config& config, DecoderShape& shape, RopeKeys keys = {});
/// Reads two rotations: one for layers with a window (`slides`) and one for the others. Each has
/// its entry in `rope_parameters`; `base` is the default without `rope_theta`, `local_base` without
/// an entry.
void read_two_rotations(const Config& config, double base, double local_base,
                        const std::vector<bool>& slides, DecoderShape& shape);
/// Gives the layers in `slides` the window `sliding_window`.
void read_windows(const Config& config, std::int64_t otherwise, const std::vector<bool>& slides,
                  DecoderShape& shape);
/// Gives all layers the window `sliding_window`, if the configuration has one.
void read_window_of_all(const Config& config, DecoderShape& shape);
/// Throws unless the list of `key` is absent or has one entry per layer.
void require_one_per_layer(const Config& config, const char* key, std::ptrdiff_t entries,
                           std::int64_t layers);
/// Whether each layer has a window: by `layer_types`, or `otherwise` if the list is absent.
std::vector<bool> sliding_layers(const Config& config, std::vector<bool> otherwise);
/// All layers except every `every`-th.
std::vector<bool> all_but_every(std::int64_t layers, std::int64_t every);

/// Builds a config.json for training, for a family with these key names.
struct TrainingKeys {
  bool gated = true;  // three matrices instead of two: the parameters of 4 C without a gate
  bool names_kv_heads = false;  // `num_key_value_heads` does not default to the number of heads
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* width = "hidden_size";
  const char* inner = "intermediate_size";
  const char* positions = "max_position_embeddings";
  const char* attention_dropout = "attention_dropout";
  std::vector<const char*> dropouts = {};  // of branch outputs; none: the family has none
  void (*more)(const TrainingShape& shape, Json& json) = nullptr;  // sets the family's other keys
};
Json usual_training_config(const TrainingShape& shape, const TrainingKeys& keys);
/// `more` of families whose heads do not default to width / heads.
void set_head_dim(const TrainingShape& shape, Json& json);

/// A model whose weights are not initialised.
std::unique_ptr<Model> empty_decoder(DecoderShape shape);
std::unique_ptr<Model> make_decoder(DecoderShape shape, std::uint64_t seed);
std::unique_ptr<Model> load_decoder(DecoderShape shape, const Weights& weights,
                                    const Reading& reading);

/// A family of decoders whose configurations are read by `kRead`.
template <DecoderShape (*kRead)(const Config&)>
Family decoder_family(std::vector<std::string_view> model_types,
                      std::function<Json(const TrainingShape&)> training_config) {
  return {
      .model_types = std::move(model_types),
      .describe = [](const Config& config) { return kRead(config).info(); },
      .make = [](const Config& config,
                 std::uint64_t seed) { return make_decoder(kRead(config), seed); },
      .load = [](const Config& config, const Weights& weights,
                 const Reading& reading) { return load_decoder(kRead(config), weights, reading); },
      .training_config = std::move(training_config),
      .shape = kRead};
}
template <DecoderShape (*kRead)(const Config&)>
Family decoder_family(std::vector<std::string_view> model_types, const TrainingKeys& keys = {}) {
  return decoder_family<kRead>(std::move(model_types), [keys](const TrainingShape& shape) {
    return usual_training_config(shape, keys);
  });
}

}  // namespace heed
