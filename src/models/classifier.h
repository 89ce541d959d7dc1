// Labels of texts or of their tokens: a small head on the last states of an encoder or a decoder,
// with the names and the form that `transformers` gives it in each family.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/io/files.h"
#include "heed/models/model.h"
#include "models/config.h"
#include "nn/linear.h"

namespace heed {

struct ClassifierConfig {
  std::string model_type;
  std::vector<std::string> labels;
  bool by_text = false;  // one label a text; else one a token
};

/// As `architectures` and `id2label` tell; none where the configuration is of another model.
std::optional<ClassifierConfig> classifier_config(const Config& config);
/// The members of a config.json that say so; kUnsupported where the family has no such head.
Json classifier_members(const ClassifierConfig& classifier);

enum class MiddleActivation : std::uint8_t { kTanh, kRelu, kGelu };

class Classifier : public Model {
 public:
  /// Over a model of `config`'s family without a head of its own; the head is not initialised.
  Classifier(std::unique_ptr<Model> base, ClassifierConfig config);

  const ModelInfo& info() const override { return info_; }
  /// Logits [B, T, labels], or of texts [B, 1, labels].
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
  // The batch that the base reads. An encoder-decoder reads the text as its source, and the text
  // after the start token as the target.
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
  std::optional<Linear> middle_;  // C -> C, of texts
  MiddleActivation activation_ = MiddleActivation::kTanh;
  Linear out_;  // C -> labels
};

}  // namespace heed
