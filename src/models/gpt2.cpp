#include "models/gpt2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/philox.h"
#include "heed/base/error.h"
#include "heed/masks/band.h"
#include "ops/add.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

constexpr auto kConv1D = WeightLayout::kInOut;

[[noreturn]] void refuse(const char* argument, Phrase found, Phrase expected,
                         ErrorCode code = ErrorCode::kInvalidArgument) {
  fail({.code = code,
        .op = "gpt2",
        .argument = argument,
        .found = std::move(found),
        .expected = std::move(expected)});
}

// [B, T, C] -> [B, 1, C]: the last token of each row.
Tensor last_position(const Tensor& x, const Run& run) {
  const std::vector<std::int64_t> lengths = run.row_lengths(x.dim(0), x.dim(1));
  Tensor last = Tensor::empty({x.dim(0), 1, x.dim(2)}, x.dtype());
  const std::size_t bytes = static_cast<std::size_t>(x.dim(2)) * size_bytes(x.dtype());
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    std::memcpy(last.view().select(0, b).raw(),
                x.view().select(0, b).select(0, lengths[static_cast<std::size_t>(b)] - 1).raw(),
                bytes);
  return last;
}

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
  return {.norm1 = LayerNorm(name + "ln_1", width, config.epsilon),
          .attention = SelfAttention(linear("attn.c_attn", width, 3 * width),
                                     linear("attn.c_proj", width, width),
                                     {.layer = layer,
                                      .heads = config.heads,
                                      .scale = score_scale(config, layer),
                                      .mask = causal()},
                                     {.rate = rate, .site = site}),
          .norm2 = LayerNorm(name + "ln_2", width, config.epsilon),
          .mlp = Mlp(linear("mlp.c_fc", width, config.inner),
                     config.activation == "gelu" ? Activation::kGelu : Activation::kGeluTanh,
                     linear("mlp.c_proj", config.inner, width), {.rate = rate, .site = site + 1})};
}

Gpt2::Gpt2(const Gpt2Config& config)
    : config_(config),
      info_{.family = "gpt2",
            .title = "GPT-2",
            .layers = config.layers,
            .heads = config.heads,
            .kv_heads = config.heads,
            .width = config.width,
            .head_dim = config.width / config.heads,
            .vocabulary = config.vocabulary,
            .positions = config.positions,
            .first_token = config.bos,
            .end_token = config.eos},
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

Tensor Gpt2::forward(const Batch& batch, Run& run) const {
  check(batch, run);
  Tensor x = add(tokens_.forward(batch.ids), positions_.forward(positions_of(batch.ids, run)));
  x = dropout_.forward(std::move(x), run);  // [B, T, C]
  run.show({.kind = TapKind::kEmbedding}, x);
  int layer = 0;
  for (const Block& block : blocks_) {
    Tensor attended = block.attention.forward(block.norm1.forward(x, run), run);
    run.show({.layer = layer, .kind = TapKind::kAttention}, attended);
    x = add(std::move(attended), x);
    Tensor thought = block.mlp.forward(block.norm2.forward(x, run), run);
    run.show({.layer = layer, .kind = TapKind::kMlp}, thought);
    x = add(std::move(thought), x);
    run.show({.layer = layer++, .kind = TapKind::kResidual}, x);
  }
  Tensor last = norm_.forward(x, run);
  run.show({.kind = TapKind::kFinal}, last);
  // [B, T, V], or [B, 1, V]: a row a text, never in bulk
  Tensor logits =
      run.last_position_only ? head_.apply(last_position(last, run), {}) : head_.forward(last, run);
  run.show({.kind = TapKind::kLogits}, logits);
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return logits;
}

void Gpt2::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                    Gradients& gradients) const {
  if (run.saved == nullptr) refuse("run.saved", "", "what forward filled");
  Tensor dx = norm_.backward(head_.backward(dlogits, run, gradients), run, gradients);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    const Tensor dthought = block->mlp.backward(dx, run, gradients);
    dx = add(block->norm2.backward(dthought, run, gradients), dx);
    const Tensor dattended = block->attention.backward(dx, run, gradients);
    dx = add(block->norm1.backward(dattended, run, gradients), dx);
  }
  dx = dropout_.backward(dx, run);
  positions_.backward(positions_of(batch.ids, run), dx, gradients);
  tokens_.backward(batch.ids, dx, gradients);
}

void Gpt2::check(const Batch& batch, const Run& run) const {
  const ConstView& ids = batch.ids;
  if (ids.rank() != 2 || ids.dtype() != DType::kI32 || !ids.is_contiguous())
    refuse("ids", fmt::format("{} {}", name(ids.dtype()), to_string(ids.shape())),
           "i32 [batch, tokens], row-major");
  if (ids.dim(1) > info_.positions)
    refuse("ids", fmt::format("{} tokens long", ids.dim(1)),
           fmt::format("at most {} (the model's positions)", info_.positions));
  const std::vector<std::int64_t> lengths = run.row_lengths(ids.dim(0), ids.dim(1));
  if (run.last_position_only && std::ranges::find(lengths, 0) != lengths.end())
    refuse("ids", "without a token", "at least one for the last position's logits");
  if (run.last_position_only && run.saved != nullptr)
    refuse("run.last_position_only", "given with run.saved",
           "one of them: backward needs all positions");
  if (run.dropout_seed && config_.attention_dropout > 0)
    refuse("attn_pdrop", config_.attention_dropout,
           "0: dropout of attention weights is not served in training yet",
           ErrorCode::kUnsupported);
  if (run.cache != nullptr) check_cache(batch, run);
}

void Gpt2::check_cache(const Batch& batch, const Run& run) const {
  if (run.saved != nullptr)
    refuse("run.cache", "given with run.saved", "one of them: backward needs the whole text");
  const Extents& extents = run.extents;
  if (!extents.key_begin.empty() || !extents.key_length.empty() || !extents.q_offset.empty() ||
      !extents.key_offset.empty())
    refuse("run.extents", "given for keys or offsets",
           "query_length alone: the cache knows the others");
  const std::vector<std::int64_t> counts = run.row_lengths(batch.ids.dim(0), batch.ids.dim(1));
  run.cache->require_room(counts);
  for (std::size_t b = 0; b < counts.size(); ++b)
    if (run.cache->lengths()[b] + counts[b] > info_.positions)
      refuse("ids",
             fmt::format("{} tokens long behind {} in the cache, in row {}", counts[b],
                         run.cache->lengths()[b], b),
             fmt::format("at most {} in all (the model's positions)", info_.positions));
}

Tensor Gpt2::positions_of(const ConstView& ids, const Run& run) const {
  Tensor positions = Tensor::empty(ids.shape(), DType::kI32);
  for (std::int64_t i = 0; i < ids.element_count(); ++i) {
    const auto row = static_cast<std::size_t>(i / ids.dim(1));
    const std::int64_t begin = run.cache != nullptr ? run.cache->lengths()[row] : 0;
    positions.data<std::int32_t>()[i] =
        static_cast<std::int32_t>(std::min(begin + i % ids.dim(1), info_.positions - 1));
  }
  return positions;
}

std::vector<Parameter*> Gpt2::parameters() {
  std::vector<Parameter*> all;
  tokens_.collect(all);
  positions_.collect(all);
  for (Block& block : blocks_) {
    block.norm1.collect(all);
    block.attention.collect(all);
    block.norm2.collect(all);
    block.mlp.collect(all);
  }
  norm_.collect(all);
  if (!config_.tied) head_.collect(all);
  return all;
}

void Gpt2::initialise(std::uint64_t seed) {
  const double usual = config_.initial_deviation;
  const double into_residual = usual / std::sqrt(2 * static_cast<double>(config_.layers));
  for (Parameter* parameter : parameters()) {
    std::uint32_t stream = 2166136261U;  // FNV-1a of the name
    for (const char letter : parameter->name)
      stream = (stream ^ static_cast<unsigned char>(letter)) * 16777619U;
    const bool matrix = parameter->value.rank() == 2;
    const float constant = parameter->name.ends_with(".bias") ? 0.0F : 1.0F;
    const double deviation = parameter->name.ends_with(".c_proj.weight") ? into_residual : usual;
    Random random(seed, stream);
    auto* value = parameter->value.data<float>();
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      value[i] = matrix ? static_cast<float>(deviation * random.normal()) : constant;
  }
}

}  // namespace heed
