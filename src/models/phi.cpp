// Phi 1 and 2 (Gunasekar et al. 2023): attention and MLP in parallel after one norm. Phi 3 (Abdin
// et al. 2024): Llama with fused projections.

#include "models/decoder.h"

namespace heed {
namespace {

DecoderShape read_phi(const Config& config) {
  DecoderShape shape{.family = "phi",
                     .title = "Phi",
                     .names = {.out = "self_attn.dense",
                               .mlp_norm = "",
                               .gate = "",
                               .up = "mlp.fc1",
                               .down = "mlp.fc2",
                               .last_norm = "model.final_layernorm"}};
  read_usual(config,
             {.layers = 24,
              .heads = 32,
              .width = 2048,
              .inner = 8192,
              .vocabulary = 51200,
              .positions = 2048,
              .activation = "gelu_new",
              .epsilon_key = "layer_norm_eps",
              .epsilon = 1e-5,
              .bos = 1,
              .eos = {2}},
             shape);
  if (shape.tied)
    config.refuse("tie_word_embeddings", "true", "false: the head has a bias",
                  ErrorCode::kUnsupported);
  shape.parallel = true;
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = shape.head_bias = true;
  if (config.flag("qk_layernorm", false)) {
    shape.names.q_norm = "self_attn.q_layernorm";
    shape.names.k_norm = "self_attn.k_layernorm";
    shape.head_norm.width = shape.head_dim;
  }
  shape.embedding_dropout = config.rate("embd_pdrop", 0);
  shape.dropout = config.rate("resid_pdrop", 0);
  read_rotation(config, shape, {.share = 0.5});
  return shape;
}

DecoderShape read_phi3(const Config& config) {
  DecoderShape shape{.family = "phi3",
                     .title = "Phi 3",
                     .names = {.qkv = "self_attn.qkv_proj", .gate = "", .up = "mlp.gate_up_proj"}};
  read_usual(config,
             {.layers = 32,
              .heads = 32,
              .width = 3072,
              .inner = 8192,
              .vocabulary = 32064,
              .positions = 4096,
              .epsilon = 1e-5,
              .bos = 1,
              .eos = {32000}},
             shape);
  shape.up_holds_gate = true;
  shape.embedding_dropout = config.rate("embd_pdrop", 0);
  shape.dropout = config.rate("resid_pdrop", 0);
  read_rotation(config, shape, {.share = 1});
  read_window_of_all(config, shape);
  return shape;
}

}  // namespace

std::vector<Family> phi_families() {
  const std::vector<const char*> dropouts = {"embd_pdrop", "resid_pdrop"};
  return {decoder_family<read_phi>({"phi"}, {.gated = false, .dropouts = dropouts}),
          decoder_family<read_phi3>({"phi3"}, {.dropouts = dropouts})};
}

}  // namespace heed
