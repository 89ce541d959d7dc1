#include "models/bert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "ops/add.h"

namespace heed {

Bert::Block Bert::make_block(const BertConfig& config, int layer) {
  const BertNames& names = *config.names;
  const std::string name = names.layer + std::to_string(layer) + ".";
  const std::int64_t C = config.width;
  const std::int64_t head_dim = C / config.heads;
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
    return Linear(name + part, {.in = in, .out = out});
  };
  const auto norm = [&](const char* part) {
    return Norms{.after = Norm(name + part, {.width = C, .epsilon = config.epsilon})};
  };
  const auto site = static_cast<std::uint32_t>(2 * layer + 1);  // 0 is the embedding's
  Attention attention(
      {.projections = separate_projections(linear(names.query, C, C), linear(names.key, C, C),
                                           linear(names.value, C, C)),
       .out = linear(names.out, C, C),
       .dropout = {.rate = config.dropout, .site = site}},
      {.layer = layer,
       .heads = config.heads,
       .kv_heads = config.heads,
       .head_dim = head_dim,
       .scale = 1 / std::sqrt(static_cast<double>(head_dim)),
       .dropout = config.attention_dropout});
  Mlp mlp({.up = linear(names.up, C, config.inner),
           .activation = config.activation,
           .down = linear(names.down, config.inner, C),
           .dropout = {.rate = config.dropout, .site = site + 1},
           .where = {.layer = layer}});
  return {{norm(names.attention_norm), std::move(attention), attention_names(Stack::kSelf, layer)},
          {norm(names.mlp_norm), std::move(mlp), mlp_names(Stack::kSelf, layer)}};
}

Bert::Head Bert::make_head(const BertConfig& config, const Embedding& words) {
  const BertNames& names = *config.names;
  return {.transform = Linear(names.transform, {.in = config.width, .out = config.width}),
          .norm = Norm(names.transform_norm, {.width = config.width, .epsilon = config.epsilon}),
          .words = config.tied
                       ? Linear(words.table(), WeightLayout::kOutIn)
                       : Linear(names.decoder,
                                {.in = config.width, .out = config.vocabulary, .bias = false}),
          .bias = Bias(config.tied ? names.head_bias : std::string(names.decoder) + ".bias",
                       {config.vocabulary})};
}

Bert::Bert(const BertConfig& config)
    : config_(config),
      info_(config.info()),
      words_(config.names->words, config.vocabulary, config.width),
      positions_(config.names->positions, config.table_positions, config.width),
      norm_(config.names->embedding_norm, {.width = config.width, .epsilon = config.epsilon}),
      dropout_{.rate = config.dropout, .site = 0} {
  if (config.types > 0) types_.emplace(config.names->types, config.types, config.width);
  for (int layer = 0; layer < config.layers; ++layer) blocks_.push_back(make_block(config, layer));
  if (config.masked_token_head) head_.emplace(make_head(config, words_));
}

Tensor Bert::states(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  const Shown show{run};
  Tensor x = add(words_.forward(batch.ids), positions_.forward(positions_of(batch.ids)));
  if (types_) x = add(std::move(x), types_->forward(types_of(batch)));
  x = show(TapKind::kEmbedding, dropout_.forward(norm_.forward(x, run), run));  // [B, T, C]
  for (const Block& block : blocks_)
    x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
  return show(TapKind::kFinal, std::move(x));
}

Tensor Bert::forward(const Batch& batch, Run& run) const {
  Tensor x = states(batch, run);
  if (!head_) return x;
  const Shown show{run};
  return show(TapKind::kLogits, read_out(wanted_rows(std::move(x), run), run));  // [B, T or 1, V]
}

Tensor Bert::read_out(const Tensor& stream, Run& run) const {
  if (!head_) return Model::read_out(stream, run);
  Tensor hidden = head_->transform.forward(stream, run);
  const Tensor x = head_->norm.forward(activate(hidden, config_.head_activation), run);
  if (run.saved != nullptr) run.saved->put(std::move(hidden));
  return head_->bias.forward(head_->words.forward(x, run));
}

void Bert::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                    Gradients& gradients) const {
  check_saved(info_, run);
  Tensor dx = dlogits.share();
  if (head_) {
    head_->bias.backward(dlogits, gradients);
    Tensor dtransformed = head_->words.backward(dlogits, run, gradients);
    const Tensor hidden = run.saved->take();
    Tensor dhidden = head_->norm.backward(dtransformed, run, gradients);
    activate_backward(hidden, config_.head_activation, dhidden);
    dx = head_->transform.backward(dhidden, run, gradients);
  }
  states_backward(dx, batch, run, gradients);
}

void Bert::states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                           Gradients& gradients) const {
  check_saved(info_, run);
  Tensor dx = dstates.share();
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
  dx = norm_.backward(dropout_.backward(dx, run), run, gradients);
  if (types_) types_->backward(types_of(batch), dx, gradients);
  positions_.backward(positions_of(batch.ids), dx, gradients);
  words_.backward(batch.ids, dx, gradients);
}

// RoBERTa counts the tokens that are not padding, from the row behind the padding's own.
Tensor Bert::positions_of(const ConstView& ids) const {
  Tensor positions = Tensor::empty(ids.shape(), DType::kI32);
  for (std::int64_t b = 0; b < ids.dim(0); ++b) {
    std::int64_t next = config_.first_position;
    for (std::int64_t t = 0; t < ids.dim(1); ++t) {
      const std::int64_t at = b * ids.dim(1) + t;
      const bool padding = config_.pad >= 0 && ids.data<std::int32_t>()[at] == config_.pad;
      positions.data<std::int32_t>()[at] =
          static_cast<std::int32_t>(padding ? config_.pad : next++);
    }
  }
  return positions;
}

Tensor Bert::types_of(const Batch& batch) const {
  return batch.types.given() ? Tensor::copy_of(batch.types)
                             : Tensor::zeros(batch.ids.shape(), DType::kI32);
}

// Between the last states and the words stands a layer that is not linear.
ModelParts Bert::parts() const {
  return {.streams = {{.words = &words_,
                       .positions = &positions_,
                       .first_position = config_.first_position,
                       .pad = config_.pad,
                       .types = types_ ? &*types_ : nullptr,
                       .embedded = norm_.numbers(),
                       .branches = block_branches(blocks_)}}};
}

std::vector<Parameter*> Bert::parameters() {
  std::vector<Parameter*> all;
  words_.collect(all);
  positions_.collect(all);
  if (types_) types_->collect(all);
  norm_.collect(all);
  for (Block& block : blocks_) {
    block.attention.collect(all);
    block.mlp.collect(all);
  }
  if (!head_) return all;
  head_->transform.collect(all);
  head_->norm.collect(all);
  if (!config_.tied) head_->words.collect(all);
  head_->bias.collect(all);
  return all;
}

}  // namespace heed
