#include "models/encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/trunk.h"
#include "nn/linear.h"

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
      : shape_(std::move(shape)), info_(shape_.info()), trunk_(make_trunk()) {
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
    return logits(*head_, trunk_.normed(stream, run), run);
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
    check_dropout(info_, shape_.unserved, run);
    return trunk_.forward(batch, run);
  }
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override {
    check_saved(info_, run);
    trunk_.backward(dstates, batch, run, gradients);
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    trunk_.collect(all);
    if (!head_) return all;
    head_->transform.collect(all);
    head_->norm.collect(all);
    if (!shape_.tied) head_->words.collect(all);
    if (head_->bias) head_->bias->collect(all);
    return all;
  }

  // BERT's head has a nonlinear layer before the vocabulary, so it has no linear read-out.
  ModelParts parts() const override { return {.streams = {trunk_.parts()}}; }

  Parameter* position_table() override { return trunk_.position_table(); }
  std::string config_json() const override { return shape_.json; }

 private:
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
  Trunk make_trunk() const {
    const EncoderNames& names = shape_.names;
    const std::string stem = names.stem;
    const std::int64_t C = shape_.width, E = shape_.embedded;
    Trunk trunk{.words = Embedding(stem + names.words, shape_.vocabulary, E),
                .rows = shape_.rows,
                .embedding_norm = norm(stem + names.embedding_norm, E),
                .dropout = {.rate = shape_.embedding_dropout, .site = 0}};
    if (is_given(names.positions))
      trunk.positions.emplace(stem + names.positions, shape_.rows.first + shape_.positions, E);
    if (shape_.types > 0) trunk.types.emplace(stem + names.types, shape_.types, E);
    if (is_given(names.projection))
      trunk.projection.emplace(stem + names.projection, LinearShape{.in = E, .out = C});
    if (is_given(names.distances)) {
      PositionBiasShape distances = shape_.distances;
      distances.heads = shape_.heads;
      trunk.distances.push_back(std::make_shared<PositionBias>(stem + names.distances, distances));
    }
    const auto rotations = rotations_of(shape_.rotations);
    for (int layer = 0; layer < info_.layers; ++layer)
      trunk.layers.push_back(make_layer(layer, trunk, rotations));
    if (is_given(names.last_norm)) trunk.last_norm = norm(stem + names.last_norm, C);
    return trunk;
  }

  AttentionParts attention_parts(const EncoderLayer& layer, const Trunk& trunk,
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
            .bias = trunk.distances.empty() ? nullptr : trunk.distances[0]};
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
  // Reuses the parameters of an earlier layer if both have the same name.
  TrunkLayer make_layer(int layer, const Trunk& trunk,
                        std::span<const std::shared_ptr<const Rotation>> rotations) const {
    const EncoderLayer& own = shape_.of_layers[static_cast<std::size_t>(layer)];
    const auto first = std::ranges::find(shape_.of_layers, own.name, &EncoderLayer::name);
    const auto index = static_cast<std::size_t>(first - shape_.of_layers.begin());
    const TrunkLayer* const shared = index < trunk.layers.size() ? &trunk.layers[index] : nullptr;
    AttentionParts attention = shared != nullptr
                                   ? shared->attention.branch().get<Attention>()->parts()
                                   : attention_parts(own, trunk, rotations);
    MlpParts mlp = shared != nullptr && shared->mlp ? shared->mlp->branch().get<Mlp>()->parts()
                                                    : mlp_parts(own);
    Norms of_attention;
    if (own.attention_norm)
      of_attention =
          shared != nullptr ? shared->attention.norms() : norms(own, shape_.names.attention_norm);
    Norms of_mlp =
        shared != nullptr && shared->mlp ? shared->mlp->norms() : norms(own, shape_.names.mlp_norm);
    const auto site = static_cast<std::uint32_t>(2 * layer + 1);  // site 0 is the embedding's
    attention.dropout = {.rate = shape_.dropout, .site = site};
    mlp.dropout = {.rate = shape_.dropout, .site = site + 1};
    mlp.where = {.layer = layer};
    TrunkLayer made{
        .attention = {std::move(of_attention),
                      Attention(std::move(attention),
                                {.layer = layer,
                                 .heads = shape_.heads,
                                 .kv_heads = shape_.heads,
                                 .head_dim = shape_.head_dim,
                                 .scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim)),
                                 .dropout = shape_.attention_dropout,
                                 .mask = text_mask(/*causal=*/false, own.window)}),
                      attention_names(Stack::kSelf, layer)},
        .is_first = shared == nullptr};
    made.mlp.emplace(std::move(of_mlp), FeedForward(Mlp(std::move(mlp))),
                     mlp_names(Stack::kSelf, layer));
    return made;
  }

  Head make_head() const {
    const EncoderNames& names = shape_.names;
    const std::int64_t E = shape_.embedded;
    const bool own_bias = !shape_.tied || !is_given(names.head_bias);
    Head head{.transform = Linear(names.transform,
                                  {.in = shape_.width, .out = E, .bias = shape_.transform_bias}),
              .norm = norm(names.transform_norm, E),
              .words = shape_.tied ? Linear(trunk_.words.table(), WeightLayout::kOutIn)
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

  EncoderShape shape_;
  ModelInfo info_;
  Trunk trunk_;
  std::optional<Head> head_;
};

}  // namespace

std::unique_ptr<Model> empty_encoder(EncoderShape shape) {
  return std::make_unique<Encoder>(std::move(shape));
}

}  // namespace heed
