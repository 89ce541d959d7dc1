// Labels for texts or for their tokens: a small head on the last states of an encoder or decoder,
// with the names and structure that `transformers` uses in each family.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "nn/linear.h"

namespace heed {

struct ClassifierConfig {
  std::string model_type;
  std::vector<std::string> labels;
  bool by_text = false;  // one label per text; else one per token
};

/// Reads `architectures` and `id2label`; empty if the configuration is not a classifier's.
std::optional<ClassifierConfig> classifier_config(const Config& config);
/// The members of config.json for this classifier; kUnsupported if the family has no such head.
Json classifier_members(const ClassifierConfig& classifier);

enum class MiddleActivation : std::uint8_t { kTanh, kRelu, kGelu };

class Classifier : public Model {
 public:
  /// Wraps a model of `config`'s family without a head; the classifier's head is not initialised.
  Classifier(std::unique_ptr<Model> base, ClassifierConfig config);

  const ModelInfo& info() const override { return info_; }
  /// Logits [B, T, labels], or for texts [B, 1, labels].
  Tensor forward(const Batch& batch, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  Parameter* position_table() override { return base_->position_table(); }
  std::string config_json() const override;

  const ClassifierConfig& classifier() const { return config_; }
  std::vector<Parameter*> head_parameters();
  void initialise_head(std::uint64_t seed, double deviation);
  void load_head(const Weights& weights);

 private:
  // The batch that the base model reads. An encoder-decoder reads the text as source, and the text
  // after the start token as target.
  class Pass {
   public:
    Pass(const Model& base, const Batch& batch, const Run& run);
    const Batch& batch() const { return batch_; }

   private:
    Tensor ids_;
    Batch batch_;
  };
  std::vector<std::int64_t> places(const Batch& batch, const Run& run) const;

  ClassifierConfig config_;
  std::unique_ptr<Model> base_;
  ModelInfo info_;
  std::optional<Linear> middle_;  // C -> C, for texts
  MiddleActivation activation_ = MiddleActivation::kTanh;
  Linear out_;  // C -> labels
};

}  // namespace heed
