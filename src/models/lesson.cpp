#include "models/lesson.h"

#include <cmath>
#include <utility>

#include "heed/generate.h"
#include "heed/mask.h"
#include "models/family.h"
#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/residual.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

constexpr double kEpsilon = 1e-5;  // of norms: PyTorch's default

Norms norms(const LessonConfig& config, const std::string& name) {
  if (!config.norm) return {};
  return {.before = Norm(name, {.width = config.width, .epsilon = kEpsilon})};
}

AttentionParts attention_parts(const LessonConfig& config, const std::string& name,
                               std::uint32_t site) {
  const auto linear = [&](const char* part, bool bias) {
    return Linear(name + part, {.in = config.width, .out = config.width, .bias = bias});
  };
  return {.projections = separate_projections(linear("query", false), linear("key", false),
                                              linear("value", false)),
          .out = linear("proj", true),
          .dropout = {.rate = config.dropout, .site = site}};
}

}  // namespace

Lesson::Block Lesson::make_block(const LessonConfig& config, int layer) {
  const std::string name = "blocks." + std::to_string(layer) + ".";
  const std::int64_t head_dim = config.width / config.heads;
  const auto site = static_cast<std::uint32_t>(2 * layer + 1);
  Attention attention(attention_parts(config, name + "sa.", site),
                      {.layer = layer,
                       .heads = config.heads,
                       .kv_heads = config.heads,
                       .head_dim = head_dim,
                       .scale = 1 / std::sqrt(static_cast<double>(head_dim)),
                       .dropout = config.attention_dropout,
                       .mask = Mask::causal()});
  Block block{.attention = {norms(config, name + "ln1"), std::move(attention),
                            attention_names(Stack::kSelf, layer), config.residual},
              .mlp = {}};
  if (config.inner > 0)
    block.mlp.emplace(
        norms(config, name + "ln2"),
        Mlp({.up = Linear(name + "ffwd.up", {.in = config.width, .out = config.inner}),
             .activation = Activation::kRelu,
             .down = Linear(name + "ffwd.down", {.in = config.inner, .out = config.width}),
             .dropout = {.rate = config.dropout, .site = site + 1},
             .where = {.layer = layer}}),
        mlp_names(Stack::kSelf, layer), config.residual);
  return block;
}

Lesson::Lesson(const LessonConfig& config)
    : config_(config),
      info_(config.info()),
      tokens_("token_embedding_table", config.vocabulary, config.width) {
  if (config.knows_positions)
    positions_.emplace("position_embedding_table", config.positions, config.width);
  for (int layer = 0; layer < config.layers; ++layer) blocks_.push_back(make_block(config, layer));
  if (config.norm) norm_.emplace("ln_f", NormShape{.width = config.width, .epsilon = kEpsilon});
  if (config.head)
    head_.emplace("lm_head", LinearShape{.in = config.width, .out = config.vocabulary});
}

Tensor Lesson::states(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  const Shown show{run};
  Tensor x = tokens_.forward(batch.ids);
  if (positions_)
    x = add(std::move(x),
            positions_->forward(positions_of(batch.ids, run, {.count = info_.positions})));
  x = show(TapKind::kEmbedding, std::move(x));  // [B, T, C]
  for (const Block& block : blocks_) {
    x = block.attention.forward(std::move(x), run);
    if (block.mlp) x = block.mlp->forward(std::move(x), run);
  }
  return show(TapKind::kFinal, norm_ ? norm_->forward(x, run) : std::move(x));
}

Tensor Lesson::words(const Tensor& last, Run& run) const {
  return head_ ? logits_of(*head_, last, run) : wanted_rows(last.share(), run);
}

Tensor Lesson::forward(const Batch& batch, Run& run) const {
  const Tensor last = states(batch, run);
  Tensor logits = Shown{run}(TapKind::kLogits, words(last, run));  // [B, T or 1, V]
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return logits;
}

Tensor Lesson::read_out(const Tensor& stream, Run& run) const {
  return words(norm_ ? norm_->forward(stream, run) : stream.share(), run);
}

void Lesson::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                      Gradients& gradients) const {
  check_saved(info_, run);
  states_backward(head_ ? head_->backward(dlogits, run, gradients) : dlogits.share(), batch, run,
                  gradients);
}

void Lesson::states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                             Gradients& gradients) const {
  check_saved(info_, run);
  Tensor dx = norm_ ? norm_->backward(dstates, run, gradients) : dstates.share();
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (const auto& mlp = block->mlp) dx = mlp->backward(dx, run, gradients);
    dx = block->attention.backward(dx, run, gradients);
  }
  if (positions_)
    positions_->backward(positions_of(batch.ids, run, {.count = info_.positions}), dx, gradients);
  tokens_.backward(batch.ids, dx, gradients);
}

ModelParts Lesson::parts() const {
  if (!config_.residual && !blocks_.empty()) return Model::parts();  // throws
  StreamParts stream{.words = &tokens_, .positions = positions_ ? &*positions_ : nullptr};
  int layer = 0;
  for (const Block& block : blocks_) {
    stream.branches.push_back(branch_parts(block.attention, Stack::kSelf, layer));
    if (block.mlp) stream.branches.push_back(branch_parts(*block.mlp, Stack::kSelf, layer));
    ++layer;
  }
  if (norm_) stream.last = norm_->numbers();
  return {.streams = {std::move(stream)}, .words = head_ ? &*head_ : nullptr};
}

std::vector<Parameter*> Lesson::parameters() {
  std::vector<Parameter*> all;
  tokens_.collect(all);
  if (positions_) positions_->collect(all);
  for (Block& block : blocks_) {
    block.attention.collect(all);
    if (block.mlp) block.mlp->collect(all);
  }
  if (norm_) norm_->collect(all);
  if (head_) head_->collect(all);
  return all;
}

void Lesson::initialise(std::uint64_t seed) {
  heed::initialise(parameters(), {.seed = seed, .deviation = [&](std::string_view) {
                                    return config_.initial_deviation;
                                  }});
}

}  // namespace heed
