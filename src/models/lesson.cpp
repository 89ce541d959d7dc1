// A decoder with optional parts: the models on the way to GPT in Karpathy's "Let's build GPT"
// (2023). examples/lessons/ and docs/lessons.md follow them. Only heed reads its `config.json`.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "heed/generate.h"
#include "heed/mask.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "models/family.h"
#include "models/parts.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"
#include "models/training_config.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/residual.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

struct LessonConfig {
  static LessonConfig read(const Config& config) {
    LessonConfig read;
    read.layers = config.extent("n_layer", 1, /*least=*/0);
    read.heads = config.extent("n_head", 1);
    read.width = config.extent("n_embd", 32);
    read.inner = config.extent("n_inner", 4 * read.width, /*least=*/0);
    read.vocabulary = config.extent("vocab_size", 65);
    read.positions = config.extent("n_positions", 8);
    read.knows_positions = config.flag("position_embedding", true);
    read.residual = config.flag("residual", true);
    read.norm = config.flag("norm", true);
    read.head = config.flag("lm_head", true);
    read.dropout = config.rate("dropout", 0);
    read.attention_dropout = config.rate("attention_dropout", 0);
    read.initial_deviation = config.not_negative("initializer_range", 0.02);
    read.eos = config.ids("eos_token_id", {});
    if (read.width % read.heads != 0)
      config.refuse("n_embd", read.width, fmt::format("a multiple of n_head ({})", read.heads));
    if (!read.head && read.width != read.vocabulary)
      config.refuse("n_embd", read.width,
                    fmt::format("vocab_size ({}), since lm_head is false", read.vocabulary));
    return read;
  }

  ModelInfo info() const {
    return {.family = "lesson",
            .title = layers == 0 ? "Bigram" : "Lesson",
            .layers = layers,
            .heads = heads,
            .kv_heads = heads,
            .width = width,
            .head_dim = width / heads,
            .vocabulary = vocabulary,
            .positions = positions,
            .end_tokens = eos,
            .stacks = {
                stack_shape(Stack::kSelf, /*causal=*/true, {layers, heads, heads, width / heads})}};
  }

  std::string to_json() const {
    const Json json = {{"model_type", "lesson"},
                       {"architectures", Json::array({"LessonLMHeadModel"})},
                       {"n_layer", layers},
                       {"n_head", heads},
                       {"n_embd", width},
                       {"n_inner", inner},
                       {"n_positions", positions},
                       {"vocab_size", vocabulary},
                       {"position_embedding", knows_positions},
                       {"residual", residual},
                       {"norm", norm},
                       {"lm_head", head},
                       {"dropout", dropout},
                       {"attention_dropout", attention_dropout},
                       {"initializer_range", initial_deviation},
                       {"eos_token_id", json_of_ids(eos)}};
    return json.dump(2) + "\n";
  }

  std::int64_t layers, heads, width, inner, vocabulary, positions;  // inner 0: no MLP
  bool knows_positions;  // adds a table of positions to the embeddings
  bool residual;         // branches are added to the stream, or replace it
  bool norm;             // before each branch and before the vocabulary layer
  bool head;             // false: the states are the logits
  double dropout, attention_dropout, initial_deviation;
  std::vector<std::int64_t> eos;
};

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

class Lesson : public Model {
 public:
  /// Weights are not initialised.
  explicit Lesson(const LessonConfig& config)
      : config_(config),
        info_(config.info()),
        tokens_("token_embedding_table", config.vocabulary, config.width) {
    if (config.knows_positions)
      positions_.emplace("position_embedding_table", config.positions, config.width);
    for (int layer = 0; layer < config.layers; ++layer)
      blocks_.push_back(make_block(config, layer));
    if (config.norm) norm_.emplace("ln_f", NormShape{.width = config.width, .epsilon = kEpsilon});
    if (config.head)
      head_.emplace("lm_head", LinearShape{.in = config.width, .out = config.vocabulary});
  }

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override {
    const Tensor last = states(batch, run);
    Tensor logits = Shown{run}(TapKind::kLogits, words(last, run));  // [B, T or 1, V]
    if (run.cache != nullptr)
      run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
    return logits;
  }

  Tensor read_out(const Tensor& stream, Run& run) const override {
    return words(norm_ ? norm_->forward(stream, run) : stream.share(), run);
  }
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override {
    check_saved(info_, run);
    states_backward(head_ ? head_->backward(dlogits, run, gradients) : dlogits.share(), batch, run,
                    gradients);
  }
  Tensor states(const Batch& batch, Run& run) const override {
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

  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override {
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

  std::vector<Parameter*> parameters() override {
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

  /// Only for models whose branches are added to the stream.
  ModelParts parts() const override {
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

  Parameter* position_table() override { return positions_ ? positions_->table().get() : nullptr; }
  std::string config_json() const override { return config_.to_json(); }

  /// Matrices normal with `initializer_range`, biases 0, norms 1. Each parameter has a random
  /// stream given by its name.
  void initialise(std::uint64_t seed) {
    heed::initialise(parameters(), {.seed = seed, .deviation = [&](std::string_view) {
                                      return config_.initial_deviation;
                                    }});
  }

 private:
  struct Block {
    Residual<Attention> attention;
    std::optional<Residual<Mlp>> mlp;
  };
  static Block make_block(const LessonConfig& config, int layer) {
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

  Tensor words(const Tensor& last, Run& run) const {
    return head_ ? logits_of(*head_, last, run) : wanted_rows(last.share(), run);
  }

  LessonConfig config_;
  ModelInfo info_;
  Embedding tokens_;
  std::optional<Embedding> positions_;
  std::vector<Block> blocks_;
  std::optional<Norm> norm_;
  std::optional<Linear> head_;
};

Json lesson_training_config(const TrainingShape& shape) {
  return {{"model_type", "lesson"},
          {"n_layer", shape.layers},
          {"n_head", shape.heads},
          {"n_embd", shape.width},
          {"n_positions", shape.positions},
          {"vocab_size", shape.vocabulary},
          {"dropout", shape.dropout},
          {"attention_dropout", shape.attention_dropout},
          {"eos_token_id", json_of_ids(shape.end_tokens)}};
}

ModelInfo describe_lesson(const Config& config) { return LessonConfig::read(config).info(); }

std::unique_ptr<Model> make_lesson(const Config& config, std::uint64_t seed) {
  auto model = std::make_unique<Lesson>(LessonConfig::read(config));
  model->initialise(seed);
  return model;
}

std::unique_ptr<Model> load_lesson(const Config& config, const Weights& weights,
                                   const Reading& reading) {
  const LessonConfig read = LessonConfig::read(config);
  const StoredWeights stored(weights, {});
  stored.require("token_embedding_table.weight", {read.vocabulary, read.width});
  auto model = std::make_unique<Lesson>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family lesson_family() {
  return {{"lesson"}, describe_lesson, make_lesson, load_lesson, lesson_training_config};
}

}  // namespace heed
