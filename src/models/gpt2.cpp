#include "models/gpt2.h"

#include <cmath>
#include <utility>

#include "models/family.h"
#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "ops/add.h"

namespace heed {
namespace {

constexpr auto kConv1D = WeightLayout::kInOut;

double score_scale(const Gpt2Config& config, int layer) {
  const std::int64_t head_dim = config.width / config.heads;
  const double scale =
      config.scale_by_head_dim ? 1 / std::sqrt(static_cast<double>(head_dim)) : 1.0;
  return config.scale_by_layer ? scale / (layer + 1) : scale;
}

}  // namespace

Gpt2::Block Gpt2::make_block(const Gpt2Config& config, int layer) {
  const std::string name = "transformer.h." + std::to_string(layer) + ".";
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
    return Linear(name + part, {.in = in, .out = out, .layout = kConv1D});
  };
  const std::int64_t width = config.width;
  const double rate = config.residual_dropout;
  const auto site = static_cast<std::uint32_t>(2 * layer + 1);  // 0 is the embedding's
  const auto norm = [&](const char* part) {
    return Norms<LayerNorm>{.before = LayerNorm(name + part, width, config.epsilon)};
  };
  Attention attention({.projections = fused_projection(linear("attn.c_attn", width, 3 * width)),
                       .out = linear("attn.c_proj", width, width),
                       .dropout = {.rate = rate, .site = site}},
                      {.layer = layer,
                       .heads = config.heads,
                       .kv_heads = config.heads,
                       .head_dim = width / config.heads,
                       .scale = score_scale(config, layer),
                       .dropout = config.attention_dropout,
                       .mask = text_mask(config.causal)});
  Mlp mlp(linear("mlp.c_fc", width, config.inner), config.activation,
          linear("mlp.c_proj", config.inner, width), {.rate = rate, .site = site + 1},
          {.layer = layer});
  return {{norm("ln_1"), std::move(attention), attention_names(Stack::kSelf, layer)},
          {norm("ln_2"), std::move(mlp), mlp_names(Stack::kSelf, layer)}};
}

Gpt2::Gpt2(const Gpt2Config& config)
    : config_(config),
      info_(config.info()),
      tokens_("transformer.wte", config.vocabulary, config.width),
      positions_("transformer.wpe", config.positions, config.width),
      dropout_{.rate = config.embedding_dropout, .site = 0},
      norm_("transformer.ln_f", config.width, config.epsilon),
      head_(config.tied ? Linear(tokens_.table(), WeightLayout::kOutIn)
                        : Linear("lm_head", {.in = config.width,
                                             .out = config.vocabulary,
                                             .layout = WeightLayout::kOutIn,
                                             .bias = false})) {
  for (int layer = 0; layer < config.layers; ++layer) blocks_.push_back(make_block(config, layer));
}

Tensor Gpt2::states(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  const Tensor positions = positions_of(batch.ids, run, info_.positions);
  const Shown show{run};
  Tensor x = add(tokens_.forward(batch.ids), positions_.forward(positions));
  x = show(TapKind::kEmbedding, dropout_.forward(std::move(x), run));  // [B, T, C]
  for (const Block& block : blocks_)
    x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
  return show(TapKind::kFinal, norm_.forward(x, run));
}

Tensor Gpt2::forward(const Batch& batch, Run& run) const {
  const Tensor last = states(batch, run);
  Tensor logits = Shown{run}(TapKind::kLogits, logits_of(head_, last, run));  // [B, T or 1, V]
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return logits;
}

Tensor Gpt2::read_out(const Tensor& stream, Run& run) const {
  return logits_of(head_, norm_.forward(stream, run), run);
}

void Gpt2::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                    Gradients& gradients) const {
  check_saved(info_, run);
  states_backward(head_.backward(dlogits, run, gradients), batch, run, gradients);
}

void Gpt2::states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                           Gradients& gradients) const {
  check_saved(info_, run);
  Tensor dx = norm_.backward(dstates, run, gradients);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
  dx = dropout_.backward(dx, run);
  positions_.backward(positions_of(batch.ids, run, info_.positions), dx, gradients);
  tokens_.backward(batch.ids, dx, gradients);
}

ModelParts Gpt2::parts() const {
  return {.streams = {{.words = &tokens_,
                       .positions = &positions_,
                       .branches = block_branches(blocks_),
                       .last = norm_.numbers()}},
          .words = &head_};
}

std::vector<Parameter*> Gpt2::parameters() {
  std::vector<Parameter*> all;
  tokens_.collect(all);
  positions_.collect(all);
  for (Block& block : blocks_) {
    block.attention.collect(all);
    block.mlp.collect(all);
  }
  norm_.collect(all);
  if (!config_.tied) head_.collect(all);
  return all;
}

void Gpt2::initialise(std::uint64_t seed) {
  const double usual = config_.initial_deviation;
  const double into_residual = usual / std::sqrt(2 * static_cast<double>(config_.layers));
  heed::initialise(parameters(), {.seed = seed, .deviation = [&](std::string_view name) {
                                    return name.ends_with(".c_proj.weight") ? into_residual : usual;
                                  }});
}

}  // namespace heed
