#include "models/encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/parts.h"
#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/residual.h"
#include "nn/rotation.h"

namespace heed {

ModelInfo EncoderShape::info() const {
  const auto layers = std::ssize(of_layers);
  return {.family = "bert",
          .title = title,
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .width = width,
          .head_dim = head_dim,
          .vocabulary = vocabulary,
          .positions = positions,
          .causal = false,
          .has_logits = masked_token_head,
          .stacks = {stack_shape(Stack::kSelf, /*causal=*/false, {layers, heads, heads, head_dim})},
          .token_types = std::max<std::int64_t>(types, 1)};
}

namespace {

class Encoder : public Model {
 public:
  /// Weights are not initialised.
  explicit Encoder(EncoderShape shape)
      : shape_(std::move(shape)),
        info_(shape_.info()),
        words_(shape_.names.stem + std::string(shape_.names.words), shape_.vocabulary,
               shape_.embedded),
        embedding_norm_(
            norm(shape_.names.stem + std::string(shape_.names.embedding_norm), shape_.embedded)),
        dropout_{.rate = shape_.embedding_dropout, .site = 0} {
    const EncoderNames& names = shape_.names;
    const std::string stem = names.stem;
    const std::int64_t C = shape_.width, E = shape_.embedded;
    if (is_given(names.positions))
      positions_.emplace(stem + names.positions, shape_.rows.first + shape_.positions, E);
    if (shape_.types > 0) types_.emplace(stem + names.types, shape_.types, E);
    if (is_given(names.projection))
      projection_.emplace(stem + names.projection, LinearShape{.in = E, .out = C});
    if (is_given(names.distances)) {
      PositionBiasShape distances = shape_.distances;
      distances.heads = shape_.heads;
      distances_ = std::make_shared<PositionBias>(stem + names.distances, distances);
    }
    std::vector<std::shared_ptr<const Rotation>> rotations;
    for (const RopeScaling& scaling : shape_.rotations)
      rotations.push_back(std::make_shared<const Rotation>(scaling));
    for (int layer = 0; layer < info_.layers; ++layer)
      blocks_.push_back(make_block(layer, rotations));
    if (is_given(names.last_norm)) last_norm_ = norm(stem + names.last_norm, C);
    if (shape_.masked_token_head) head_.emplace(make_head());
  }

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override {
    Tensor x = states(batch, run);
    if (!head_) return x;
    const Tensor wanted = wanted_rows(std::move(x), run);
    return Shown{run}(TapKind::kLogits, logits(*head_, wanted, run));  // [B, T or 1, V]
  }
  Tensor read_out(const Tensor& stream, Run& run) const override {
    if (!head_) return Model::read_out(stream, run);
    return logits(*head_, last_norm_ ? last_norm_->forward(stream, run) : stream.share(), run);
  }
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override {
    check_saved(info_, run);
    Tensor dx = dlogits.share();
    if (head_) {
      if (head_->bias) head_->bias->backward(dlogits, gradients);
      const Tensor dtransformed = head_->words.backward(dlogits, run, gradients);
      const Tensor hidden = run.saved->take();
      Tensor dhidden = head_->norm.backward(dtransformed, run, gradients);
      activate_backward(hidden, shape_.head_activation, dhidden);
      dx = head_->transform.backward(dhidden, run, gradients);
    }
    states_backward(dx, batch, run, gradients);
  }

  Tensor states(const Batch& batch, Run& run) const override {
    check_pass(info_, batch, run);
    for (const auto& [key, share] : shape_.unserved) check_dropout(info_, key, share, run);
    const Shown show{run};
    Tensor x = words_.forward(batch.ids);
    if (positions_)
      x = add(std::move(x), positions_->forward(positions_of(batch.ids, run, shape_.rows)));
    if (types_) x = add(std::move(x), types_->forward(types_of(batch)));
    x = dropout_.forward(embedding_norm_.forward(x, run), run);
    if (projection_) x = projection_->forward(x, run);
    x = show(TapKind::kEmbedding, std::move(x));  // [B, T, C]
    for (const Block& block : blocks_)
      x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
    return show(TapKind::kFinal, last_norm_ ? last_norm_->forward(x, run) : std::move(x));
  }

  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override {
    check_saved(info_, run);
    Tensor dx = last_norm_ ? last_norm_->backward(dstates, run, gradients) : dstates.share();
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
      dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
    if (projection_) dx = projection_->backward(dx, run, gradients);
    dx = embedding_norm_.backward(dropout_.backward(dx, run), run, gradients);
    if (types_) types_->backward(types_of(batch), dx, gradients);
    if (positions_) positions_->backward(positions_of(batch.ids, run, shape_.rows), dx, gradients);
    words_.backward(batch.ids, dx, gradients);
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    words_.collect(all);
    if (positions_) positions_->collect(all);
    if (types_) types_->collect(all);
    embedding_norm_.collect(all);
    if (projection_) projection_->collect(all);
    if (distances_) distances_->collect(all);
    for (Block& block : blocks_) {
      if (!block.is_first) continue;
      block.attention.collect(all);
      block.mlp.collect(all);
    }
    if (last_norm_) last_norm_->collect(all);
    if (!head_) return all;
    head_->transform.collect(all);
    head_->norm.collect(all);
    if (!shape_.tied) head_->words.collect(all);
    if (head_->bias) head_->bias->collect(all);
    return all;
  }

  // BERT's head has a nonlinear layer before the vocabulary, so it has no linear read-out. If the
  // embeddings pass a projection, their parts are not parts of the stream.
  ModelParts parts() const override {
    if (projection_) return Model::parts();  // throws
    StreamParts stream{.words = &words_,
                       .positions = positions_ ? &*positions_ : nullptr,
                       .first_position = shape_.rows.first,
                       .pad = shape_.rows.pad,
                       .types = types_ ? &*types_ : nullptr,
                       .embedded = embedding_norm_.numbers(),
                       .branches = block_branches(blocks_)};
    if (last_norm_) stream.last = last_norm_->numbers();
    return {.streams = {std::move(stream)}};
  }

  Parameter* position_table() override { return positions_ ? positions_->table().get() : nullptr; }
  std::string config_json() const override { return shape_.json; }

 private:
  struct Block {
    Residual<Attention> attention;
    Residual<Mlp> mlp;
    bool is_first;  // of the blocks that share its parameters
  };
  struct Head {
    Linear transform;
    Norm norm;
    Linear words;
    std::optional<Bias> bias;
  };
  Norm norm(const std::string& name, std::int64_t width) const {
    NormShape shape = shape_.norm;
    shape.width = width;
    return {name, shape};
  }
  AttentionParts attention_parts(const EncoderLayer& layer,
                                 std::span<const std::shared_ptr<const Rotation>> rotations) const {
    const EncoderNames& names = shape_.names;
    const std::int64_t C = shape_.width, all = shape_.heads * shape_.head_dim;
    const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
      return Linear(layer.name + part, {.in = in, .out = out, .bias = shape_.attention_bias});
    };
    return {.projections = is_given(names.qkv) ? fused_projection(linear(names.qkv, C, 3 * all))
                                               : separate_projections(linear(names.q, C, all),
                                                                      linear(names.k, C, all),
                                                                      linear(names.v, C, all)),
            .out = linear(names.out, all, C),
            .rotation = layer.rotation ? rotations[*layer.rotation] : nullptr,
            .bias = distances_};
  }

  MlpParts mlp_parts(const EncoderLayer& layer) const {
    const EncoderNames& names = shape_.names;
    const std::int64_t C = shape_.width, F = shape_.inner;
    const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
      return Linear(layer.name + part, {.in = in, .out = out, .bias = shape_.mlp_bias});
    };
    MlpParts parts{.up = linear(names.up, C, shape_.up_holds_gate ? 2 * F : F),
                   .holds_gate = shape_.up_holds_gate,
                   .activation = shape_.activation,
                   .down = linear(names.down, F, C)};
    if (is_given(names.gate)) parts.gate.emplace(linear(names.gate, C, F));
    return parts;
  }

  Norms norms(const EncoderLayer& layer, const char* name) const {
    Norm norm = this->norm(layer.name + name, shape_.width);
    if (shape_.norms_first) return {.before = std::move(norm)};
    return {.after = std::move(norm)};
  }
  // Reuses the parameters of an earlier block if both layers have the same name.
  Block make_block(int layer, std::span<const std::shared_ptr<const Rotation>> rotations) const {
    const EncoderLayer& own = shape_.of_layers[static_cast<std::size_t>(layer)];
    const auto first = std::ranges::find(shape_.of_layers, own.name, &EncoderLayer::name);
    const auto index = static_cast<std::size_t>(first - shape_.of_layers.begin());
    const Block* const shared = index < blocks_.size() ? &blocks_[index] : nullptr;
    AttentionParts attention =
        shared != nullptr ? shared->attention.branch().parts() : attention_parts(own, rotations);
    MlpParts mlp = shared != nullptr ? shared->mlp.branch().parts() : mlp_parts(own);
    Norms of_attention;
    if (own.attention_norm)
      of_attention =
          shared != nullptr ? shared->attention.norms() : norms(own, shape_.names.attention_norm);
    Norms of_mlp = shared != nullptr ? shared->mlp.norms() : norms(own, shape_.names.mlp_norm);
    const auto site = static_cast<std::uint32_t>(2 * layer + 1);  // site 0 is the embedding's
    attention.dropout = {.rate = shape_.dropout, .site = site};
    mlp.dropout = {.rate = shape_.dropout, .site = site + 1};
    mlp.where = {.layer = layer};
    return {.attention = {std::move(of_attention),
                          Attention(std::move(attention),
                                    {.layer = layer,
                                     .heads = shape_.heads,
                                     .kv_heads = shape_.heads,
                                     .head_dim = shape_.head_dim,
                                     .scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim)),
                                     .dropout = shape_.attention_dropout,
                                     .mask = text_mask(/*causal=*/false, own.window)}),
                          attention_names(Stack::kSelf, layer)},
            .mlp = {std::move(of_mlp), Mlp(std::move(mlp)), mlp_names(Stack::kSelf, layer)},
            .is_first = shared == nullptr};
  }

  Head make_head() const {
    const EncoderNames& names = shape_.names;
    const std::int64_t E = shape_.embedded;
    const bool own_bias = !shape_.tied || !is_given(names.head_bias);
    Head head{.transform = Linear(names.transform,
                                  {.in = shape_.width, .out = E, .bias = shape_.transform_bias}),
              .norm = norm(names.transform_norm, E),
              .words = shape_.tied ? Linear(words_.table(), WeightLayout::kOutIn)
                                   : Linear(names.decoder,
                                            {.in = E, .out = shape_.vocabulary, .bias = false}),
              .bias = {}};
    if (shape_.decoder_bias)
      head.bias.emplace(own_bias ? names.decoder + std::string(".bias") : names.head_bias,
                        Shape{shape_.vocabulary});
    return head;
  }

  Tensor logits(const Head& head, const Tensor& last, Run& run) const {
    Tensor hidden = head.transform.forward(last, run);
    const Tensor x = head.norm.forward(activate(hidden, shape_.head_activation), run);
    if (run.saved != nullptr) run.saved->put(std::move(hidden));
    Tensor logits = head.words.forward(x, run);
    return head.bias ? head.bias->forward(std::move(logits)) : std::move(logits);
  }

  Tensor types_of(const Batch& batch) const {
    return batch.types.given() ? Tensor::copy_of(batch.types)
                               : Tensor::zeros(batch.ids.shape(), DType::kI32);
  }

  EncoderShape shape_;
  ModelInfo info_;
  Embedding words_;
  std::optional<Embedding> positions_;
  std::optional<Embedding> types_;
  Norm embedding_norm_;
  DropoutLayer dropout_;
  std::optional<Linear> projection_;
  std::shared_ptr<PositionBias> distances_;
  std::vector<Block> blocks_;
  std::optional<Norm> last_norm_;
  std::optional<Head> head_;
};

}  // namespace

std::unique_ptr<Model> empty_encoder(EncoderShape shape) {
  return std::make_unique<Encoder>(std::move(shape));
}

}  // namespace heed
