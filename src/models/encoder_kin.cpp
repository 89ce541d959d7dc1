#include <fmt/format.h>

#include "models/decoder.h"
#include "models/encoder.h"
#include "models/rope_config.h"

namespace heed {
namespace {

// RoBERTa's head has a fixed activation, whatever the configuration says.
void read_roberta(const Config& /*config*/, EncoderShape& shape) {
  shape.head_activation = Activation::kGelu;
}

constexpr EncoderNames kRobertaNames = {.stem = "roberta.",
                                        .transform = "lm_head.dense",
                                        .transform_norm = "lm_head.layer_norm",
                                        .head_bias = "lm_head.bias",
                                        .decoder = "lm_head.decoder"};

constexpr EncoderKin kRoberta = {.model_type = "roberta",
                                 .title = "RoBERTa",
                                 .architecture = "RobertaForMaskedLM",
                                 .names = kRobertaNames,
                                 .vocabulary = 50265,
                                 .counts_past_padding = true,
                                 .more = read_roberta};

constexpr EncoderKin roberta_called(std::string_view model_type, const char* title,
                                    const char* architecture) {
  EncoderKin kin = kRoberta;
  kin.model_type = model_type;
  kin.title = title;
  kin.architecture = architecture;
  kin.vocabulary = 30522;
  return kin;
}

constexpr EncoderKin kDistilBert = {.model_type = "distilbert",
                                    .title = "DistilBERT",
                                    .architecture = "DistilBertForMaskedLM",
                                    .names = {.stem = "distilbert.",
                                              .types = "",
                                              .layer = "transformer.layer.",
                                              .q = "attention.q_lin",
                                              .k = "attention.k_lin",
                                              .v = "attention.v_lin",
                                              .out = "attention.out_lin",
                                              .attention_norm = "sa_layer_norm",
                                              .up = "ffn.lin1",
                                              .down = "ffn.lin2",
                                              .mlp_norm = "output_layer_norm",
                                              .transform = "vocab_transform",
                                              .transform_norm = "vocab_layer_norm",
                                              .head_bias = "vocab_projector.bias",
                                              .decoder = "vocab_projector"},
                                    .layers_key = "n_layers",
                                    .heads_key = "n_heads",
                                    .width_key = "dim",
                                    .inner_key = "hidden_dim",
                                    .activation_key = "activation",
                                    .dropout_key = "dropout",
                                    .attention_dropout_key = "attention_dropout",
                                    .epsilon_key = nullptr,
                                    .types_key = nullptr,
                                    .layers = 6,
                                    .types = 0};

// ELECTRA (Clark et al. 2020). The generator predicts tokens; the discriminator's head does not.
void read_electra(const Config& /*config*/, EncoderShape& shape) {
  if (shape.embedded != shape.width) shape.names.projection = "embeddings_project";
  shape.head_activation = Activation::kGelu;
}

constexpr EncoderKin kElectra = {.model_type = "electra",
                                 .title = "ELECTRA",
                                 .architecture = "ElectraForMaskedLM",
                                 .names = {.stem = "electra.",
                                           .transform = "generator_predictions.dense",
                                           .transform_norm = "generator_predictions.LayerNorm",
                                           .head_bias = "",
                                           .decoder = "generator_lm_head"},
                                 .embedded_key = "embedding_size",
                                 .heads = 4,
                                 .width = 256,
                                 .inner = 1024,
                                 .more = read_electra};

// ALBERT (Lan et al. 2020): the layers of a group share their parameters, and each of them may
// consist of several layers with different parameters.
void read_albert(const Config& config, EncoderShape& shape) {
  const auto layers = std::ssize(shape.of_layers);
  const std::int64_t groups = config.extent("num_hidden_groups", 1, 1, layers);
  const std::int64_t inner = config.extent("inner_group_num", 1, 1, 1000);
  std::vector<EncoderLayer> all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const double of_group = static_cast<double>(layers) / static_cast<double>(groups);
    const auto group = static_cast<std::int64_t>(static_cast<double>(layer) / of_group);
    for (std::int64_t part = 0; part < inner; ++part)
      all.push_back({.name = fmt::format("{}{}{}.albert_layers.{}.", shape.names.stem,
                                         shape.names.layer, group, part)});
  }
  shape.of_layers = std::move(all);
}

constexpr EncoderKin kAlbert = {.model_type = "albert",
                                .title = "ALBERT",
                                .architecture = "AlbertForMaskedLM",
                                .names = {.stem = "albert.",
                                          .projection = "encoder.embedding_hidden_mapping_in",
                                          .layer = "encoder.albert_layer_groups.",
                                          .q = "attention.query",
                                          .k = "attention.key",
                                          .v = "attention.value",
                                          .out = "attention.dense",
                                          .attention_norm = "attention.LayerNorm",
                                          .up = "ffn",
                                          .down = "ffn_output",
                                          .mlp_norm = "full_layer_layer_norm",
                                          .transform = "predictions.dense",
                                          .transform_norm = "predictions.LayerNorm",
                                          .head_bias = "predictions.bias",
                                          .decoder = "predictions.decoder"},
                                .embedded_key = "embedding_size",
                                .heads = 64,
                                .width = 4096,
                                .inner = 16384,
                                .vocabulary = 30000,
                                .activation = "gelu_new",
                                .dropout = 0,
                                .more = read_albert};

// MPNet (Song et al. 2020). In transformers the number of buckets and the padding are fixed.
void read_mpnet(const Config& config, EncoderShape& shape) {
  constexpr std::int64_t kBuckets = 32;
  if (const std::int64_t buckets = config.extent("relative_attention_num_buckets", kBuckets);
      buckets != kBuckets)
    config.refuse("relative_attention_num_buckets", buckets, fmt::format("{}", kBuckets),
                  ErrorCode::kUnsupported);
  shape.distances = {.buckets = kBuckets};
  read_roberta(config, shape);
}

constexpr EncoderKin kMpnet = {.model_type = "mpnet",
                               .title = "MPNet",
                               .architecture = "MPNetForMaskedLM",
                               .names = {.stem = "mpnet.",
                                         .types = "",
                                         .distances = "encoder.relative_attention_bias",
                                         .q = "attention.attn.q",
                                         .k = "attention.attn.k",
                                         .v = "attention.attn.v",
                                         .out = "attention.attn.o",
                                         .attention_norm = "attention.LayerNorm",
                                         .transform = "lm_head.dense",
                                         .transform_norm = "lm_head.layer_norm",
                                         .head_bias = "lm_head.bias",
                                         .decoder = "lm_head.decoder"},
                               .types_key = nullptr,
                               .vocabulary = 30527,
                               .types = 0,
                               .counts_past_padding = true,
                               .padding = 1,
                               .more = read_mpnet};

// ModernBERT (Warner et al. 2024): rotations and windows by layer, norms before each branch.
RopeScaling modern_rotation(const Config& config, const EncoderShape& shape, const char* layers,
                            const char* base_key, double base) {
  return read_rope_of(config, layers,
                      {.head_dim = shape.head_dim,
                       .positions = shape.positions,
                       .base = config.positive(base_key, base),
                       .only_inside = true},
                      /*is_scaled=*/true);
}

void read_modernbert(const Config& config, EncoderShape& shape) {
  const std::int64_t every = config.extent("global_attn_every_n_layers", 3);
  const std::int64_t window = config.extent("local_attention", 128, 2) / 2;
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < std::ssize(shape.of_layers); ++layer)
    slides.push_back(layer % every != 0);
  slides = sliding_layers(config, slides);
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    shape.of_layers[layer].window = slides[layer] ? window : 0;
    shape.of_layers[layer].rotation = slides[layer] ? 1U : 0U;
  }
  shape.of_layers[0].attention_norm = false;  // the embeddings already have a norm
  shape.rotations = {
      modern_rotation(config, shape, "full_attention", "global_rope_theta", 160000),
      modern_rotation(config, shape, "sliding_attention", "local_rope_theta", 10000)};
  shape.norms_first = true;
  shape.norm.bias = config.flag("norm_bias", false);
  shape.attention_bias = config.flag("attention_bias", false);
  shape.mlp_bias = config.flag("mlp_bias", false);
  shape.transform_bias = config.flag("classifier_bias", false);
  shape.decoder_bias = config.flag("decoder_bias", true);
  shape.up_holds_gate = true;
  shape.head_activation = config.activation("classifier_activation", "gelu");
  shape.dropout = 0;  // applies to attention weights only
  shape.unserved = {{"attention_dropout", shape.attention_dropout},
                    {"mlp_dropout", config.rate("mlp_dropout", 0)}};
}

constexpr EncoderKin kModernBert = {.model_type = "modernbert",
                                    .title = "ModernBERT",
                                    .architecture = "ModernBertForMaskedLM",
                                    .names = {.stem = "model.",
                                              .words = "embeddings.tok_embeddings",
                                              .positions = "",
                                              .types = "",
                                              .embedding_norm = "embeddings.norm",
                                              .layer = "layers.",
                                              .qkv = "attn.Wqkv",
                                              .out = "attn.Wo",
                                              .attention_norm = "attn_norm",
                                              .up = "mlp.Wi",
                                              .down = "mlp.Wo",
                                              .mlp_norm = "mlp_norm",
                                              .last_norm = "final_norm",
                                              .transform = "head.dense",
                                              .transform_norm = "head.norm",
                                              .head_bias = "",
                                              .decoder = "decoder"},
                                    .activation_key = "hidden_activation",
                                    .dropout_key = "embedding_dropout",
                                    .attention_dropout_key = "attention_dropout",
                                    .epsilon_key = "norm_eps",
                                    .types_key = nullptr,
                                    .layers = 22,
                                    .inner = 1152,
                                    .vocabulary = 50368,
                                    .positions = 8192,
                                    .types = 0,
                                    .epsilon = 1e-5,
                                    .dropout = 0,
                                    .more = read_modernbert};

// The published files have settings that transformers does not read. heed refuses values that the
// models of transformers would not have.
void require_published_nomic(const Config& config) {
  for (const char* key : {"prenorm", "causal", "use_rms_norm", "parallel_block", "qkv_proj_bias",
                          "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved"})
    if (config.flag(key, false)) config.refuse(key, "true", "false", ErrorCode::kUnsupported);
  for (const char* key : {"rotary_scaling_factor", "rotary_emb_scale_base"})
    if (config.has(key)) config.refuse(key, config.number(key, 0), "null", ErrorCode::kUnsupported);
  if (const double share = config.number("rotary_emb_fraction", 1); share != 1)
    config.refuse("rotary_emb_fraction", share, "1", ErrorCode::kUnsupported);
  if (!config.flag("scale_attn_weights", true))
    config.refuse("scale_attn_weights", "false", "true", ErrorCode::kUnsupported);
  if (const std::string kind = config.text("activation_function", "swiglu"); kind != "swiglu")
    config.refuse("activation_function", fmt::format("'{}'", kind), "swiglu",
                  ErrorCode::kUnsupported);
}

// Nomic Embed (Nussbaum et al. 2024): BERT with rotations and a gated MLP.
void read_nomic(const Config& config, EncoderShape& shape) {
  shape.head_dim = config.extent("head_dim", shape.head_dim);
  shape.rotations = {
      read_rope(config, {.head_dim = shape.head_dim, .positions = shape.positions, .base = 1000})};
  for (EncoderLayer& layer : shape.of_layers) layer.rotation = 0;
  shape.attention_bias = shape.mlp_bias = false;
  require_published_nomic(config);
}

constexpr EncoderKin kNomic = {.model_type = "nomic_bert",
                               .title = "Nomic BERT",
                               .architecture = "NomicBertForMaskedLM",
                               .names = {.stem = "nomic_bert.",
                                         .positions = "",
                                         .embedding_norm = "emb_ln",
                                         .layer = "encoder.layers.",
                                         .qkv = "attn.Wqkv",
                                         .out = "attn.out_proj",
                                         .attention_norm = "norm1",
                                         .gate = "mlp.fc12",
                                         .up = "mlp.fc11",
                                         .down = "mlp.fc2",
                                         .mlp_norm = "norm2",
                                         .transform_norm = "cls.predictions.transform.layer_norm"},
                               .vocabulary = 30528,
                               .positions = 2048,
                               .activation = "silu",
                               .dropout = 0,
                               .more = read_nomic};

constexpr EncoderKin kKin[] = {
    {.model_type = "bert", .title = "BERT", .architecture = "BertForMaskedLM"},
    kRoberta,
    roberta_called("camembert", "CamemBERT", "CamembertForMaskedLM"),
    roberta_called("xlm-roberta", "XLM-RoBERTa", "XLMRobertaForMaskedLM"),
    kDistilBert,
    kElectra,
    kAlbert,
    kMpnet,
    kModernBert,
    kNomic};

}  // namespace

std::span<const EncoderKin> all_encoder_kin() { return kKin; }

}  // namespace heed
