#include "models/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "heed/generate.h"
#include "models/trunk.h"

namespace heed {
namespace {

std::string block_name(const DecoderShape& shape, int layer) {
  return shape.names.block + std::to_string(layer) + ".";
}

// The prefix of the names of an expert's parameters.
std::string expert_name(const DecoderShape& shape, int layer, std::int64_t expert) {
  return block_name(shape, layer) + shape.names.experts + std::to_string(expert) + ".";
}

// The stream is shown after the layer's last branch.
BranchNames mlp_names(const DecoderShape& shape, int layer) {
  BranchNames names = heed::mlp_names(Stack::kSelf, layer);
  if (shape.layer_words > 0) names.stream.reset();
  return names;
}

// The tensors that files may hold for a layer that reads another layer's keys.
std::vector<std::string> unused_of_shared(const DecoderShape& shape) {
  std::vector<std::string> unused;
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (!shape.of_layer(layer).keys_from) continue;
    const std::string block =
        block_name(shape, layer).substr(std::string_view(shape.names.prefix).size());
    for (const char* name : {shape.names.k, shape.names.v, shape.names.k_norm})
      unused.push_back(block + name + ".");
  }
  return unused;
}

// Site 0 is the embedding's.
DropoutLayer dropout_of(const DecoderShape& shape, int layer, int branch) {
  return {.rate = shape.dropout, .site = static_cast<std::uint32_t>(2 * layer + 1 + branch)};
}

// Returns the slopes of ALiBi (Press et al. 2022). A power of two, n, has 2^(-8/n), 2^(-16/n), and
// so on. Another number has the slopes of the next lower power, then every second slope of the next
// higher one.
std::vector<double> alibi_slopes(std::int64_t heads) {
  const auto lower = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> slopes;
  for (std::int64_t head = 1; head <= lower; ++head)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(lower)));
  for (std::int64_t head = 1; std::ssize(slopes) < heads; head += 2)
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(head) / static_cast<double>(lower)));
  return slopes;
}

}  // namespace

bool DecoderShape::has_recurrence() const {
  return std::ranges::any_of(of_layers, &DecoderLayer::is_recurrent);
}

DecoderLayer DecoderShape::of_layer(int layer) const {
  DecoderLayer own = of_layers.at(static_cast<std::size_t>(layer));
  if (own.kv_heads == 0) own.kv_heads = kv_heads;
  if (own.head_dim == 0) own.head_dim = head_dim;
  if (own.inner == 0) own.inner = inner;
  return own;
}

namespace {

StackShape stack_of_layers(const DecoderShape& shape) {
  StackShape stack = stack_shape(Stack::kSelf, shape.causal,
                                 {shape.layers, shape.heads, shape.kv_heads, shape.head_dim});
  for (int layer = 0; shape.has_recurrence() && layer < shape.layers; ++layer)
    if (!shape.of_layers[static_cast<std::size_t>(layer)].is_recurrent)
      stack.attending.push_back(layer);
  const LayerKeys most = stack.keys_of(0);
  bool differ = false;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const DecoderLayer own = shape.of_layer(layer);
    const LayerKeys keys = {.from = own.keys_from.value_or(layer),
                            .kv_heads = static_cast<int>(own.kv_heads),
                            .head_dim = static_cast<int>(own.head_dim)};
    differ = differ || keys != LayerKeys{layer, most.kv_heads, most.head_dim};
    stack.of_layers.push_back(keys);
  }
  if (!differ) {
    stack.of_layers.clear();
    return stack;
  }
  stack.kv_heads = stack.head_dim = 0;
  for (const LayerKeys& keys : stack.of_layers) {
    stack.kv_heads = std::max(stack.kv_heads, keys.kv_heads);
    stack.head_dim = std::max(stack.head_dim, keys.head_dim);
  }
  return stack;
}

}  // namespace

ModelInfo DecoderShape::info() const {
  const StackShape stack = stack_of_layers(*this);
  return {.family = family,
          .title = title,
          .layers = layers,
          .heads = heads,
          .kv_heads = stack.kv_heads,
          .width = width,
          .head_dim = stack.head_dim,
          .vocabulary = vocabulary,
          .positions = positions,
          .first_token = bos,
          .end_tokens = eos,
          .bad_words = bad_words,
          .causal = causal,
          .has_logits = has_words || tied || states_are_logits,
          .stacks = {stack}};
}

namespace {

class Decoder : public Model {
 public:
  /// Weights are not initialised.
  explicit Decoder(DecoderShape shape)
      : shape_(std::move(shape)), info_(shape_.info()), trunk_(make_trunk()), head_(make_head()) {
    if (shape_.experts.stacked || shape_.head_norms == HeadNorms::kStacked)
      for (Parameter* parameter : parameters())
        parameter->stacked = stacked_name(parameter->name).has_value();
  }

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override {
    const Tensor last = states(batch, run);
    Tensor shown = info_.has_logits
                       ? Shown{run}(TapKind::kLogits, logits(last, run))  // [B, T or 1, V]
                       : for_head(last, run);                             // [B, T, C]
    if (run.cache != nullptr)
      run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
    return shown;
  }

  Tensor read_out(const Tensor& stream, Run& run) const override {
    if (!info_.has_logits) return Model::read_out(stream, run);  // throws
    return logits(trunk_.normed(stream, run), run);
  }
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override {
    check_saved(info_, run);
    Tensor dlast = dlogits.share();
    if (shape_.logit_cap > 0)
      dlast = softcap_backward(run.saved->take(), shape_.logit_cap, dlogits);
    if (shape_.logit_scale != 1) dlast = scaled(dlast.clone(), shape_.logit_scale);
    if (head_) dlast = head_->backward(dlast, run, gradients);
    if (const auto& own = trunk_.head_projection) dlast = own->backward(dlast, run, gradients);
    states_backward(dlast, batch, run, gradients);
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
    if (head_ && !shape_.tied) head_->collect(all);
    return all;
  }

  Parameter* position_table() override { return trunk_.position_table(); }
  ModelParts parts() const override {
    if (!shape_.residual && !trunk_.layers.empty()) return Model::parts();  // throws: no stream
    return {.streams = {trunk_.parts()},
            .words = head_ && !trunk_.head_projection ? &*head_ : nullptr,
            .words_scale = shape_.logit_scale,
            .logit_cap = shape_.logit_cap};
  }

  std::string config_json() const override { return shape_.json; }

  /// Normal with the shape's deviations, biases 0, norms' scales 1. Each parameter has a random
  /// stream given by its name.
  void initialise(std::uint64_t seed) {
    const DecoderNames& names = shape_.names;
    const auto writes = [&](std::string_view name) {
      for (const char* part : {names.out, names.down})
        if (name.ends_with(std::string(part) + ".weight")) return true;
      return false;
    };
    heed::initialise(parameters(), {.seed = seed,
                                    .deviation =
                                        [&](std::string_view name) {
                                          return writes(name)
                                                     ? shape_.into_stream.value_or(shape_.deviation)
                                                     : shape_.deviation;
                                        },
                                    .norm = static_cast<float>(1 - shape_.norm.offset)});
    for (const TrunkLayer& layer : trunk_.layers)
      if (const DeltaRule* rule = layer.attention.branch().get<DeltaRule>()) rule->initialise(seed);
  }

 private:
  Trunk make_trunk() const {
    const DecoderNames& names = shape_.names;
    const std::int64_t C = shape_.width;
    Trunk trunk{.words = Embedding(names.tokens, shape_.vocabulary, shape_.width_of_words()),
                .word_projection = projection(names.project_in, shape_.word_width, C),
                .word_scale = shape_.embedding_scale,
                .rows = {.count = shape_.positions, .first = shape_.first_position},
                .embedding_norm = norm("", names.embedding_norm),
                .dropout = {.rate = shape_.embedding_dropout, .site = 0},
                .head_projection = projection(names.project_out, C, shape_.word_width),
                .parallel = shape_.parallel,
                .last_norm = norm("", names.last_norm)};
    if (is_given(names.positions))
      trunk.positions.emplace(names.positions, shape_.positions + shape_.first_position, C);
    if (shape_.layer_words > 0) trunk.layer_tables.emplace(make_layer_tables());
    const auto rotations = rotations_of(shape_.rotations);
    for (int layer = 0; layer < shape_.layers; ++layer)
      trunk.layers.push_back(make_layer(layer, rotations));
    return trunk;
  }

  TrunkLayer make_layer(int layer,
                        std::span<const std::shared_ptr<const Rotation>> rotations) const {
    const DecoderNames& names = shape_.names;
    const std::string block = block_name(shape_, layer);
    Norms of_attention{.before = norm(block, names.attention_norm),
                       .inside = norm_inside(block, names.attention_inside)};
    Norms of_mlp{.before = norm(block, names.mlp_norm),
                 .inside = norm_inside(block, names.mlp_inside)};
    if (shape_.norms_behind)
      for (Norms* norms : {&of_attention, &of_mlp}) std::swap(norms->before, norms->after);
    if (shape_.layer_words == 0)
      if (std::optional<Norm> scalar = layer_scalar(block)) of_mlp.after = std::move(scalar);
    if (shape_.parallel && !is_given(names.mlp_norm) && of_attention.before)
      of_mlp.before = of_attention.before->shared();
    TrunkLayer made{.attention = {std::move(of_attention), make_mixer(layer, rotations),
                                  attention_names(Stack::kSelf, layer), shape_.residual}};
    if (shape_.inner > 0)
      made.mlp.emplace(std::move(of_mlp), make_feed_forward(layer), mlp_names(shape_, layer),
                       shape_.residual);
    if (shape_.layer_words > 0) made.words.emplace(make_layer_words(layer, layer_scalar(block)));
    return made;
  }

  Mixer make_mixer(int layer, std::span<const std::shared_ptr<const Rotation>> rotations) const {
    if (!shape_.of_layers[static_cast<std::size_t>(layer)].is_recurrent)
      return make_attention(layer, rotations);
    return DeltaRule(block_name(shape_, layer), shape_.names.delta_rule, shape_.width,
                     shape_.delta_rule, layer);
  }

  LayerTables make_layer_tables() const {
    const DecoderNames& names = shape_.names;
    const std::int64_t width = shape_.layer_words, all = shape_.layers * width;
    NormShape norm = shape_.norm;
    norm.width = width;
    return LayerTables(
        {.words = Embedding(names.layer_tables, shape_.layer_vocabulary, all),
         .word_scale = std::sqrt(static_cast<double>(width)),
         .projection = linear(names.layer_tables_projection, shape_.width, all, false),
         .projection_scale = 1 / std::sqrt(static_cast<double>(shape_.width)),
         .norm = Norm(names.layer_tables_norm, norm),
         .sum_scale = std::numbers::sqrt2 / 2});
  }

  Residual<LayerWords> make_layer_words(int layer, std::optional<Norm> scalar) const {
    const DecoderNames& names = shape_.names;
    const std::string block = block_name(shape_, layer);
    const auto part = [&](const char* name, std::int64_t in, std::int64_t out) {
      return linear(block + name, in, out, false);
    };
    return {{.inside = norm(block, names.layer_words_inside), .after = std::move(scalar)},
            LayerWords(part(names.layer_words_gate, shape_.width, shape_.layer_words),
                       shape_.activation,
                       part(names.layer_words_out, shape_.layer_words, shape_.width)),
            {Stack::kSelf, layer, TapKind::kMlpInput, TapKind::kLayerWords, TapKind::kResidual}};
  }

  Attention make_attention(int layer,
                           std::span<const std::shared_ptr<const Rotation>> rotations) const {
    const auto& [s, names] = std::tie(shape_, shape_.names);
    const std::string block = block_name(s, layer);
    const DecoderLayer own = s.of_layer(layer);
    const std::int64_t H = s.heads, G = own.kv_heads, D = own.head_dim, C = s.width;
    const auto projection = [&](const char* name, std::int64_t heads) {
      return linear(block + name, C, heads * D, s.qkv_bias);
    };
    std::vector<Linear> projections;
    if (is_given(names.qkv)) {
      projections = fused_projection(projection(names.qkv, H + 2 * G));
    } else {
      projections.push_back(projection(names.q, s.gated ? 2 * H : H));
      if (!own.keys_from) projections.push_back(projection(names.k, G));
      if (!own.keys_from && !own.keys_are_values) projections.push_back(projection(names.v, G));
    }
    AttentionParts parts{.projections = std::move(projections),
                         .out = linear(block + names.out, H * D, C, s.out_bias),
                         .rotation = own.rotation ? rotations[*own.rotation] : nullptr,
                         .dropout = dropout_of(s, layer, 0)};
    parts.q_norms = head_norms(block, names.q_norm, H, D);
    if (!own.keys_from) parts.k_norms = head_norms(block, names.k_norm, G, D);
    if (!own.keys_from && s.norms_values) {
      NormShape plain = s.head_norm;
      plain.width = D;
      plain.weight = false;
      parts.v_norms.emplace_back("", plain);
    }
    if (is_given(names.sinks)) {
      parts.sinks = std::make_shared<Parameter>();
      parts.sinks->name = block + names.sinks;
      parts.sinks->value = Tensor::empty({H});
      parts.sinks->decays = false;
    }
    return {std::move(parts),
            {.layer = layer,
             .heads = H,
             .kv_heads = G,
             .head_dim = D,
             .scale = own.scale,
             .softcap = s.score_cap,
             .dropout = s.attention_dropout,
             .by_head = s.by_head,
             .gated = s.gated,
             .clip = s.clip,
             .slopes = s.alibi ? alibi_slopes(H) : std::vector<double>(),
             .rounds_slopes = s.rounds_alibi,
             .keys_from = own.keys_from,
             .lends_keys = lends_keys(layer),
             .keys_are_values = own.keys_are_values,
             .mask = text_mask(s.causal, own.window)}};
  }

  FeedForward make_feed_forward(int layer) const {
    if (shape_.of_layers[static_cast<std::size_t>(layer)].has_experts)
      return FeedForward(make_experts(layer));
    return FeedForward(make_mlp(layer));
  }
  Mlp make_mlp(int layer) const {
    const DecoderNames& names = shape_.names;
    const std::string block = block_name(shape_, layer);
    const std::int64_t C = shape_.width, F = shape_.of_layer(layer).inner;
    const auto part = [&](const char* name, std::int64_t in, std::int64_t out) {
      return linear(block + name, in, out, shape_.mlp_bias);
    };
    MlpParts parts{.up = part(names.up, C, shape_.up_holds_gate ? 2 * F : F),
                   .holds_gate = shape_.up_holds_gate,
                   .activation = shape_.activation,
                   .down = part(names.down, F, C),
                   .dropout = dropout_of(shape_, layer, 1),
                   .where = {.layer = layer}};
    if (is_given(names.gate)) parts.gate.emplace(part(names.gate, C, F));
    return Mlp(std::move(parts));
  }

  Experts make_experts(int layer) const {
    const DecoderNames& names = shape_.names;
    const ExpertsShape& shape = shape_.experts;
    const std::string block = block_name(shape_, layer);
    const std::int64_t C = shape_.width;
    const auto expert = [&](const std::string& prefix, std::int64_t inner) {
      const auto part = [&](const char* name, std::int64_t in, std::int64_t out) {
        return Linear(prefix + name,
                      {.in = in, .out = out, .layout = shape.layout(), .bias = shape.bias});
      };
      const bool holds_gate = !is_given(names.expert_gate);
      MlpParts parts{.up = part(names.expert_up, C, holds_gate ? 2 * inner : inner),
                     .holds_gate = holds_gate,
                     .alternates = holds_gate,
                     .limit = shape.limit,
                     .activation = shape_.activation,
                     .down = part(names.expert_down, inner, C),
                     .where = {.layer = layer}};
      if (!holds_gate) parts.gate = part(names.expert_gate, C, inner);
      return Mlp(std::move(parts));
    };
    ExpertsParts parts{.router = linear(block + names.router, C, shape.count, shape.bias),
                       .chosen = shape.chosen,
                       .sums_to_one = shape.sums_to_one};
    for (std::int64_t i = 0; i < shape.count; ++i)
      parts.experts.push_back(expert(expert_name(shape_, layer, i), shape.inner));
    if (is_given(names.shared)) parts.shared = expert(block + names.shared, shape.shared_inner);
    if (is_given(names.shared_gate))
      parts.shared_gate = linear(block + names.shared_gate, C, 1, false);
    return Experts(std::move(parts));
  }

  std::optional<Norm> norm(const std::string& block, const char* name) const {
    if (!is_given(name)) return {};
    NormShape shape = shape_.norm;
    shape.width = shape_.width;
    return Norm(block + name, shape);
  }
  std::vector<Norm> head_norms(const std::string& block, const char* name, std::int64_t heads,
                               std::int64_t head_dim) const {
    if (!is_given(name)) return {};
    NormShape shape = shape_.head_norm;
    if (shape.width == 0) shape.width = heads * head_dim;
    if (shape.width == shape_.head_dim) shape.width = head_dim;
    if (shape_.head_norms == HeadNorms::kShared) return {Norm(block + name, shape)};
    std::vector<Norm> norms;
    for (std::int64_t head = 0; head < heads; ++head)
      norms.emplace_back(fmt::format("{}{}.norms.{}", block, name, head), shape);
    return norms;
  }

  std::optional<Norm> layer_scalar(const std::string& block) const {
    if (!is_given(shape_.names.layer_scalar)) return {};
    return Norm(block + shape_.names.layer_scalar,
                {.width = shape_.width, .centred = false, .is_scalar = true});
  }
  bool lends_keys(int layer) const {
    return std::ranges::any_of(shape_.of_layers,
                               [&](const DecoderLayer& other) { return other.keys_from == layer; });
  }
  std::optional<Norm> norm_inside(const std::string& block, const char* name) const {
    if (shape_.branch_scale == 1) return norm(block, name);
    return Norm("", {.width = shape_.width, .centred = false, .factor = shape_.branch_scale});
  }
  Linear linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) const {
    return {name, {.in = in, .out = out, .layout = shape_.layout, .bias = bias}};
  }
  std::optional<Linear> make_head() const {
    if (shape_.tied) return Linear(trunk_.words.table(), WeightLayout::kOutIn);
    if (!shape_.has_words) return {};
    return Linear(shape_.names.head, {.in = shape_.width_of_words(),
                                      .out = shape_.vocabulary,
                                      .layout = WeightLayout::kOutIn,
                                      .bias = shape_.head_bias});
  }

  std::optional<Linear> projection(const char* name, std::int64_t in, std::int64_t out) const {
    if (!is_given(name)) return {};
    return linear(name, in, out, /*bias=*/false);
  }
  // The states, as wide as words.
  Tensor for_head(const Tensor& last, Run& run) const {
    return trunk_.head_projection ? trunk_.head_projection->forward(last, run) : last.share();
  }
  Tensor logits(const Tensor& last, Run& run) const {
    if (!head_) return wanted_rows(last.share(), run);
    Tensor logits = logits_of(*head_, for_head(last, run), run);
    if (shape_.logit_scale != 1) logits = scaled(std::move(logits), shape_.logit_scale);
    if (shape_.logit_cap == 0) return logits;
    logits = softcapped(std::move(logits), shape_.logit_cap);
    if (run.saved != nullptr) run.saved->put(logits.clone());  // a caller may overwrite its copy
    return logits;
  }

  DecoderShape shape_;
  ModelInfo info_;
  Trunk trunk_;
  std::optional<Linear> head_;  // none: the model has no vocabulary, or the states are the logits
};

}  // namespace

std::unique_ptr<Model> empty_decoder(DecoderShape shape) {
  return std::make_unique<Decoder>(std::move(shape));
}

std::unique_ptr<Model> make_decoder(DecoderShape shape, std::uint64_t seed) {
  auto model = std::make_unique<Decoder>(std::move(shape));
  model->initialise(seed);
  return model;
}

namespace {

// Checks the sizes of the tables and of the last layer of each kind against the shape, before
// memory is allocated.
void require_sizes(const StoredWeights& stored, const DecoderShape& shape) {
  const DecoderNames& names = shape.names;
  const int last_layer = static_cast<int>(shape.layers) - 1;
  const std::string last = block_name(shape, last_layer);
  const auto matrix = [&](const std::string& name, std::int64_t in, std::int64_t out,
                          WeightLayout layout) {
    stored.require(name + ".weight",
                   layout == WeightLayout::kInOut ? Shape{in, out} : Shape{out, in});
  };
  stored.require(names.tokens + std::string(".weight"), {shape.vocabulary, shape.width_of_words()});
  if (is_given(names.positions))
    stored.require(names.positions + std::string(".weight"),
                   {shape.positions + shape.first_position, shape.width});
  for (const bool is_recurrent : {false, true}) {
    const auto found = std::ranges::find(shape.of_layers.rbegin(), shape.of_layers.rend(),
                                         is_recurrent, &DecoderLayer::is_recurrent);
    if (found == shape.of_layers.rend()) continue;
    const int layer = static_cast<int>(shape.of_layers.rend() - found) - 1;
    const std::string block = block_name(shape, layer);
    if (is_recurrent)
      matrix(block + names.delta_rule.qkv, shape.width, shape.delta_rule.channels(), shape.layout);
    else if (!is_given(names.qkv))
      matrix(block + names.q, shape.width,
             (shape.gated ? 2 : 1) * shape.heads * shape.of_layer(layer).head_dim, shape.layout);
  }
  if (shape.of_layers.back().has_experts)
    matrix(expert_name(shape, last_layer, shape.experts.count - 1) + names.expert_down,
           shape.experts.inner, shape.width, shape.experts.layout());
  else
    matrix(last + names.down, shape.of_layer(last_layer).inner, shape.width, shape.layout);
  if (shape.layer_words > 0)
    stored.require(names.layer_tables + std::string(".weight"),
                   {shape.layer_vocabulary, shape.layers * shape.layer_words});
}

}  // namespace

std::unique_ptr<Model> load_decoder(DecoderShape shape, const Weights& weights,
                                    const Reading& reading) {
  const std::string words = shape.names.tokens + std::string(".weight");
  std::vector<std::string> heads = {shape.names.head + std::string(".weight")};
  if (is_given(shape.other_head)) heads.push_back(shape.other_head + std::string(".weight"));
  Spelling spelling = {
      .prefix = shape.names.prefix, .wrappers = shape.wrappers, .unused = shape.unused};
  const std::vector<std::string> unused = unused_of_shared(shape);
  spelling.unused.insert(spelling.unused.end(), unused.begin(), unused.end());
  // Like transformers: if the file contradicts the configuration, the file counts.
  const auto is_another = [&](const std::string& head) {
    return StoredWeights(weights, spelling).differ(head, words);
  };
  if (shape.tied && !reading.headers_only && !shape.keeps_tie &&
      std::ranges::any_of(heads, is_another)) {
    shape.tied = false;
    shape.json = Config::parse(shape.json, "config").with({{"tie_word_embeddings", false}});
  }
  for (const std::string& head : heads) {
    if (shape.tied) spelling.unused.emplace_back(head);
    spelling.otherwise.emplace_back(shape.tied ? words : heads[0], head);
  }
  const StoredWeights stored(weights, spelling);
  const auto holds = [&](const std::string& head) { return stored.holds(head); };
  shape.has_words = shape.has_words || std::ranges::any_of(heads, holds);
  require_sizes(stored, shape);
  auto model = std::make_unique<Decoder>(std::move(shape));
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace heed
