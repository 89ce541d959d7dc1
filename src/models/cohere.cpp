// Command R (Cohere 2024): attention and MLP in parallel after one norm without a shift, and scaled
// logits. Command R7B has windows in three of four layers, and rotary positions only in those.
#include "models/decoder.h"

namespace heed {
namespace {

DecoderShape read_cohere(const Config& config) {
  const bool is_second = config.text("model_type", "") == "cohere2";
  DecoderShape shape{.family = is_second ? "cohere2" : "cohere",
                     .title = is_second ? "Command R7B" : "Command R",
                     .names = {.mlp_norm = ""}};
  read_usual(config,
             {.layers = 40,
              .heads = 64,
              .width = 8192,
              .inner = 22528,
              .vocabulary = 256000,
              .positions = 8192,
              .epsilon_key = "layer_norm_eps",
              .epsilon = 1e-5,
              .tied = true,
              .bos = 5,
              .eos = {255001}},
             shape);
  shape.parallel = true;
  shape.norm.bias = false;
  if (!is_second && config.flag("use_qk_norm", false)) {
    shape.names.q_norm = "self_attn.q_norm";
    shape.names.k_norm = "self_attn.k_norm";
    shape.head_norm = {.width = shape.head_dim, .epsilon = shape.norm.epsilon, .bias = false};
    shape.head_norms = HeadNorms::kStacked;
  }
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  shape.logit_scale = config.positive("logit_scale", 0.0625);
  read_rotation(config, shape,
                {.pairs = RopePairs::kNeighbours, .base = is_second ? 10000.0 : 500000.0});
  if (!is_second) return shape;
  const std::vector<bool> slides = sliding_layers(
      config, all_but_every(shape.layers, config.extent("sliding_window_pattern", 4)));
  read_windows(config, 4096, slides, shape);
  for (std::size_t layer = 0; layer < slides.size(); ++layer)
    if (!slides[layer]) shape.of_layers[layer].rotation = {};
  return shape;
}

}  // namespace

Family cohere_family() { return decoder_family<read_cohere>({"cohere", "cohere2"}); }

}  // namespace heed
