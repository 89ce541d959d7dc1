#include "models/seq2seq.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "heed/generate.h"
#include "models/family.h"
#include "models/trunk.h"
#include "nn/linear.h"

namespace heed {
namespace {

Norm norm_of(const Seq2seqShape& shape, const std::string& name) {
  NormShape norm = shape.norm;
  norm.width = shape.width;
  return {name, norm};
}

std::string name_of(const Seq2seqShape& shape, Stack stack) {
  return stack == Stack::kDecoder ? shape.names.decoder : shape.names.encoder;
}

std::string layer_name(const Seq2seqShape& shape, Stack stack, int layer) {
  return fmt::format("{}{}{}.", name_of(shape, stack), shape.names.block, layer);
}

// Builds one layer's parts from their names.
class LayerParts {
 public:
  LayerParts(const Seq2seqShape& shape, Stack stack, int layer)
      : shape_(shape),
        decodes_(stack == Stack::kDecoder),
        side_(decodes_ ? shape.decoder : shape.encoder),
        stack_(stack),
        layer_(layer),
        name_(layer_name(shape, stack, layer)) {}

  Residual<Mixer> attention(std::shared_ptr<const PositionBias> distances) {
    return attending<Mixer>(shape_.names.attention, shape_.names.attention_norm, stack_,
                            std::move(distances), text_mask(shape_.causal && decodes_));
  }
  Residual<Attention> cross() {
    return attending<Attention>(shape_.names.cross, shape_.names.cross_norm, Stack::kCross, nullptr,
                                {});
  }

  Residual<FeedForward> mlp() {
    const Seq2seqNames& names = shape_.names;
    const std::string stem = decodes_ ? names.decoder_mlp : names.encoder_mlp;
    const std::int64_t C = shape_.width, F = side_.inner;
    MlpParts parts{.up = linear(stem + names.up, C, F),
                   .activation = shape_.activation,
                   .down = linear(stem + names.down, F, C),
                   .dropout = next_dropout(),
                   .where = {.stack = stack_, .layer = layer_}};
    if (is_given(names.gate)) parts.gate.emplace(linear(stem + names.gate, C, F));
    return {norms(stem + names.mlp_norm), FeedForward(Mlp(std::move(parts))),
            mlp_names(stack_, layer_)};
  }

 private:
  template <typename Branch>
  Residual<Branch> attending(const std::string& part, const char* norm, Stack stack,
                             std::shared_ptr<const PositionBias> distances, Mask mask) {
    const Seq2seqNames& names = shape_.names;
    const std::int64_t C = shape_.width, H = side_.heads;
    const std::int64_t D = shape_.head_dim == 0 ? C / H : shape_.head_dim;
    const auto projection = [&](const char* what) { return linear(part + what, C, H * D); };
    Attention attention(
        {.projections =
             separate_projections(projection(names.q), projection(names.k), projection(names.v)),
         .out = linear(part + names.out, H * D, C),
         .bias = std::move(distances),
         .dropout = next_dropout()},
        {.stack = stack,
         .layer = layer_,
         .heads = H,
         .kv_heads = H,
         .head_dim = D,
         .scale = shape_.score_scale.value_or(1 / std::sqrt(static_cast<double>(D))),
         .dropout = shape_.attention_dropout,
         .mask = std::move(mask)});
    return {norms(norm), std::move(attention), attention_names(stack, layer_)};
  }

  Linear linear(const std::string& name, std::int64_t in, std::int64_t out) const {
    return {name_ + name, {.in = in, .out = out, .bias = shape_.biases}};
  }

  Norms norms(const std::string& name) const {
    Norm norm = norm_of(shape_, name_ + name);
    if (shape_.norms_first) return {.before = std::move(norm)};
    return {.after = std::move(norm)};
  }

  // Sites 0 and 1 are the embeddings'; a decoder's layer has three, an encoder's two.
  DropoutLayer next_dropout() {
    const std::int64_t before = decodes_ ? 2 * shape_.encoder.layers + 3 * layer_ : 2 * layer_;
    return {.rate = shape_.dropout, .site = static_cast<std::uint32_t>(2 + before + branch_++)};
  }

  const Seq2seqShape& shape_;
  bool decodes_;
  const Seq2seqShape::Side& side_;
  Stack stack_;
  int layer_;
  std::string name_;
  int branch_ = 0;
};

// One for all layers, or one per layer; none if scores have no such bias.
std::vector<std::shared_ptr<PositionBias>> make_distances(const Seq2seqShape& shape, Stack stack,
                                                          const Seq2seqShape::Side& side) {
  std::vector<std::shared_ptr<PositionBias>> all;
  if (!is_given(shape.names.distances)) return all;
  PositionBiasShape distances = shape.distances;
  distances.heads = side.heads;
  distances.both_sides = stack != Stack::kDecoder;
  for (int layer = 0; layer < (shape.own_distances ? side.layers : 1); ++layer)
    all.push_back(std::make_shared<PositionBias>(
        layer_name(shape, stack, layer) + shape.names.attention + shape.names.distances,
        distances));
  return all;
}

}  // namespace

ModelInfo Seq2seqShape::info() const {
  const auto stack_of = [&](Stack stack, bool in_order, const Side& side) {
    const std::int64_t own = head_dim == 0 ? width / side.heads : head_dim;
    return stack_shape(stack, in_order, {side.layers, side.heads, side.heads, own});
  };
  ModelInfo info{.family = family,
                 .title = title,
                 .layers = encoder.layers,
                 .heads = encoder.heads,
                 .kv_heads = encoder.heads,
                 .width = width,
                 .head_dim = head_dim == 0 ? width / encoder.heads : head_dim,
                 .vocabulary = decoder.vocabulary,
                 .positions = positions,
                 .first_token = start,
                 .end_tokens = eos,
                 .bad_words = bad_words,
                 .causal = false,
                 .has_logits = has_words};
  if (!has_decoder) {
    info.stacks = {stack_of(Stack::kSelf, /*in_order=*/false, encoder)};
    return info;
  }
  info.stacks = {stack_of(Stack::kEncoder, /*in_order=*/false, encoder),
                 stack_of(Stack::kDecoder, causal, decoder),
                 stack_of(Stack::kCross, /*in_order=*/false, decoder)};
  info.source_positions = positions;
  info.source_vocabulary = encoder.vocabulary;
  return info;
}

namespace {

class Seq2seq : public Model {
 public:
  /// Weights are not initialised.
  explicit Seq2seq(Seq2seqShape shape)
      : shape_(std::move(shape)),
        info_(shape_.info()),
        encoder_(make_side(shape_.has_decoder ? Stack::kEncoder : Stack::kSelf)) {
    if (shape_.has_decoder) decoder_.emplace(make_side(Stack::kDecoder));
    if (!decoder_ || !shape_.has_words) return;
    const std::int64_t words = shape_.decoder.vocabulary;
    if (shape_.tied)
      head_.emplace(decoder_->words.table(), WeightLayout::kOutIn);
    else
      head_.emplace(shape_.names.head,
                    LinearShape{.in = shape_.width, .out = words, .bias = false});
    if (is_given(shape_.names.logit_bias)) bias_.emplace(shape_.names.logit_bias, Shape{1, words});
  }

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override {
    if (!decoder_) return wanted_rows(states(batch, run), run);
    check(batch, run);
    Source source{.states = {}, .lengths = source_lengths(batch)};
    if (batch.source.given()) {
      Run reading = source_run(batch, run);
      source.states = encoder_.forward({.ids = batch.source}, reading);
    }
    Tensor last = decoder_->forward(batch, run, source);
    Tensor given = head_ ? Shown{run, Stack::kDecoder}(TapKind::kLogits, logits(*head_, last, run))
                         : wanted_rows(std::move(last), run);  // [B, T or 1, V], or of C
    if (run.cache != nullptr)
      run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
    return given;
  }

  Tensor read_out(const Tensor& stream, Run& run) const override {
    if (!head_ || !decoder_) return Model::read_out(stream, run);  // throws
    return logits(*head_, decoder_->normed(stream, run), run);
  }
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override {
    if (!decoder_) return states_backward(dlogits, batch, run, gradients);
    check_saved(info_, run);
    if (bias_) bias_->backward(dlogits, gradients);
    Tensor dx = head_ ? head_->backward(dlogits, run, gradients) : dlogits.share();
    if (head_ && shape_.head_scale != 1) dx = scaled(std::move(dx), shape_.head_scale);
    Tensor dsource =
        Tensor::zeros({batch.source.dim(0), batch.source.dim(1), shape_.width}, dx.dtype());
    const Source source{.states = {}, .lengths = source_lengths(batch)};
    decoder_->backward(dx, batch, run, gradients, source, &dsource);
    Run reading = source_run(batch, run);
    encoder_.backward(dsource, {.ids = batch.source}, reading, gradients);
  }

  Tensor states(const Batch& batch, Run& run) const override {
    if (decoder_) return Model::states(batch, run);  // throws
    check(batch, run);
    return encoder_.forward(batch, run);
  }
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override {
    if (decoder_) return Model::states_backward(dstates, batch, run, gradients);  // throws
    check_saved(info_, run);
    encoder_.backward(dstates, batch, run, gradients);
  }
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    encoder_.collect(all);
    if (decoder_) decoder_->collect(all);
    if (head_ && !shape_.tied) head_->collect(all);
    if (bias_) bias_->collect(all);
    return all;
  }

  ModelParts parts() const override {
    ModelParts parts{.streams = {encoder_.parts()},
                     .words = head_ ? &*head_ : nullptr,
                     .words_scale = shape_.head_scale};
    if (decoder_) parts.streams.push_back(decoder_->parts());
    return parts;
  }

  std::string config_json() const override { return shape_.json; }

 private:
  // The decoder's, once the encoder exists: both may share the table of words.
  Trunk make_side(Stack stack) const {
    const Seq2seqNames& names = shape_.names;
    const bool encodes = stack != Stack::kDecoder;
    const Seq2seqShape::Side& numbers = encodes ? shape_.encoder : shape_.decoder;
    const std::string name = name_of(shape_, stack);
    const std::string words = shape_.shared_words ? names.shared : name + names.words;
    const bool owns_words = encodes || !shape_.shared_words;
    Trunk side{.stack = stack,
               .words = owns_words ? Embedding(words, numbers.vocabulary, shape_.width)
                                   : Embedding(encoder_.words.table()),
               .owns_words = owns_words,
               .word_scale = shape_.word_scale,
               .rows = shape_.rows,
               .sinusoids = shape_.sinusoids,
               .dropout = {.rate = shape_.dropout, .site = encodes ? 0U : 1U},
               .distances = make_distances(shape_, stack, numbers)};
    if (is_given(names.positions))
      side.positions.emplace(name + names.positions, shape_.rows.count + shape_.rows.first,
                             shape_.width);
    if (is_given(names.embedding_norm))
      side.embedding_norm = norm_of(shape_, name + names.embedding_norm);
    if (is_given(names.last_norm)) side.last_norm = norm_of(shape_, name + names.last_norm);
    for (int layer = 0; layer < numbers.layers; ++layer) {
      LayerParts parts(shape_, stack, layer);
      std::shared_ptr<const PositionBias> distances;
      if (!side.distances.empty()) distances = side.distances[shape_.own_distances ? layer : 0];
      TrunkLayer made{.attention = parts.attention(std::move(distances))};
      if (!encodes) made.cross.emplace(parts.cross());
      made.mlp.emplace(parts.mlp());
      side.layers.push_back(std::move(made));
    }
    return side;
  }

  Tensor logits(const Linear& head, const Tensor& last, Run& run) const {
    const Tensor read =
        shape_.head_scale == 1 ? last.share() : scaled(last.clone(), shape_.head_scale);
    Tensor logits = logits_of(head, read, run);
    return bias_ ? bias_->forward(std::move(logits)) : std::move(logits);
  }
  void check(const Batch& batch, const Run& run) const {
    check_pass(info_, batch, run);
    check_dropout(info_, shape_.unserved, run);
  }

  Seq2seqShape shape_;
  ModelInfo info_;
  Trunk encoder_;
  std::optional<Trunk> decoder_;
  std::optional<Linear> head_;
  std::optional<Bias> bias_;
};

}  // namespace

std::unique_ptr<Model> empty_seq2seq(Seq2seqShape shape) {
  return std::make_unique<Seq2seq>(std::move(shape));
}

std::unique_ptr<Model> make_seq2seq(Seq2seqShape shape, std::uint64_t seed) {
  const std::function<double(std::string_view)> deviation = shape.deviation;
  auto model = empty_seq2seq(std::move(shape));
  initialise(model->parameters(), {.seed = seed, .deviation = deviation});
  return model;
}

}  // namespace heed
