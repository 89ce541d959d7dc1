// A decoder with optional parts: the models on the way to GPT in Karpathy's "Let's build GPT"
// (2023). examples/lessons/ and docs/lessons.md follow them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/residual.h"

namespace heed {

struct LessonConfig {
  static LessonConfig read(const Config& config);
  ModelInfo info() const;
  std::string to_json() const;

  std::int64_t layers, heads, width, inner, vocabulary, positions;  // inner 0: no MLP
  bool knows_positions;  // adds a table of positions to the embeddings
  bool residual;         // branches are added to the stream, or replace it
  bool norm;             // before each branch and before the vocabulary layer
  bool head;             // false: the states are the logits
  double dropout, attention_dropout, initial_deviation;
  std::vector<std::int64_t> eos;
};

class Lesson : public Model {
 public:
  /// Weights are not initialised.
  explicit Lesson(const LessonConfig& config);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  Tensor states(const Batch& batch, Run& run) const override;
  void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                       Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  /// Only for models whose branches are added to the stream.
  ModelParts parts() const override;
  Parameter* position_table() override { return positions_ ? positions_->table().get() : nullptr; }
  std::string config_json() const override { return config_.to_json(); }

  /// Matrices normal with `initializer_range`, biases 0, norms 1. Each parameter has a random
  /// stream given by its name.
  void initialise(std::uint64_t seed);

 private:
  struct Block {
    Residual<Attention> attention;
    std::optional<Residual<Mlp>> mlp;
  };
  static Block make_block(const LessonConfig& config, int layer);
  Tensor words(const Tensor& last, Run& run) const;

  LessonConfig config_;
  ModelInfo info_;
  Embedding tokens_;
  std::optional<Embedding> positions_;
  std::vector<Block> blocks_;
  std::optional<Norm> norm_;
  std::optional<Linear> head_;
};

}  // namespace heed
