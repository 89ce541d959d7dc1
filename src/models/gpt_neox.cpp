// GPT-NeoX (Black et al. 2022) and GPT-J (Wang & Komatsuzaki 2021): attention and MLP in parallel,
// and rotary positions for a part of each head. Pythia, GPT-NeoX-20B, GPT-J-6B.
#include <fmt/format.h>

#include <algorithm>

#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr DecoderNames kNeoxParts = {.prefix = "gpt_neox.",
                                     .tokens = "gpt_neox.embed_in",
                                     .block = "gpt_neox.layers.",
                                     .qkv = "attention.query_key_value",
                                     .out = "attention.dense",
                                     .gate = "",
                                     .up = "mlp.dense_h_to_4h",
                                     .down = "mlp.dense_4h_to_h",
                                     .last_norm = "gpt_neox.final_layer_norm",
                                     .head = "embed_out"};

DecoderShape read_gpt_neox(const Config& config) {
  DecoderShape shape{.family = "gpt_neox", .title = "GPT-NeoX", .names = kNeoxParts};
  read_usual(config,
             {.layers = 44,
              .heads = 64,
              .width = 6144,
              .inner = 24576,
              .vocabulary = 50432,
              .positions = 2048,
              .activation = "gelu",
              .epsilon_key = "layer_norm_eps",
              .epsilon = 1e-5,
              .heads_alike = true,
              .bos = 0,
              .eos = {2}},
             shape);
  shape.by_head = true;
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", true);
  shape.mlp_bias = true;
  shape.parallel = config.flag("use_parallel_residual", true);
  shape.embedding_dropout = shape.dropout = config.rate("hidden_dropout", 0);
  shape.unused = {".attention.bias"};
  shape.other_head = "lm_head";
  // Besides `rope_parameters`, only the keys that transformers had before it are read.
  read_rotation(config, shape,
                {.base = config.positive("rotary_emb_base", 10000),
                 .only_inside = true,
                 .share = config.positive("rotary_pct", 0.25)});
  return shape;
}

constexpr DecoderNames kGptjParts = {.prefix = "transformer.",
                                     .tokens = "transformer.wte",
                                     .block = "transformer.h.",
                                     .attention_norm = "ln_1",
                                     .q = "attn.q_proj",
                                     .k = "attn.k_proj",
                                     .v = "attn.v_proj",
                                     .out = "attn.out_proj",
                                     .mlp_norm = "",
                                     .gate = "",
                                     .up = "mlp.fc_in",
                                     .down = "mlp.fc_out",
                                     .last_norm = "transformer.ln_f"};

DecoderShape read_gptj(const Config& config) {
  DecoderShape shape{.family = "gptj", .title = "GPT-J", .names = kGptjParts};
  read_usual(config,
             {.layers = 28,
              .heads = 16,
              .width = 4096,
              .vocabulary = 50400,
              .positions = 2048,
              .layers_key = "n_layer",
              .heads_key = "n_head",
              .width_key = "n_embd",
              .inner_key = "n_inner",
              .positions_key = "n_positions",
              .activation_key = "activation_function",
              .activation = "gelu_new",
              .epsilon_key = "layer_norm_epsilon",
              .epsilon = 1e-5,
              .heads_alike = true,
              .bos = 50256,
              .eos = {50256}},
             shape);
  shape.mlp_bias = shape.head_bias = true;
  shape.parallel = true;
  shape.embedding_dropout = config.rate("embd_pdrop", 0);
  shape.dropout = config.rate("resid_pdrop", 0);
  shape.attention_dropout = config.rate("attn_pdrop", 0);
  shape.unused = {".attn.bias", ".attn.embed_positions"};
  const std::int64_t width = config.extent("rotary_dim", 64);
  if (width % 2 != 0 || width > shape.head_dim)
    config.refuse("rotary_dim", width,
                  fmt::format("an even number, at most n_embd / n_head ({})", shape.head_dim));
  if (shape.tied)
    config.refuse("tie_word_embeddings", "true", "false: the head has a bias",
                  ErrorCode::kUnsupported);
  shape.rotations = {{.width = width, .pairs = RopePairs::kNeighbours}};
  return shape;
}

void set_rotary_dim(const TrainingShape& shape, Json& json) {
  const std::int64_t head_dim = shape.width / shape.heads;
  json.set("rotary_dim", std::min<std::int64_t>(64, std::max<std::int64_t>(2, head_dim / 2 * 2)));
}

}  // namespace

std::vector<Family> gpt_neox_families() {
  return {
      decoder_family<read_gpt_neox>({"gpt_neox"}, {.gated = false, .dropouts = {"hidden_dropout"}}),
      decoder_family<read_gptj>({"gptj"}, {.gated = false,
                                           .layers = "n_layer",
                                           .heads = "n_head",
                                           .width = "n_embd",
                                           .inner = "n_inner",
                                           .positions = "n_positions",
                                           .attention_dropout = "attn_pdrop",
                                           .dropouts = {"embd_pdrop", "resid_pdrop"},
                                           .more = set_rotary_dim})};
}

}  // namespace heed
