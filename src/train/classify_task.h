// Labels for texts, or for their tokens.
#pragma once

#include "models/training_config.h"
#include "train/special_tokens.h"
#include "train/task.h"

namespace heed {

struct TextLine;

/// For texts, a line is a label, a tab and the text. For tokens, a line is a word, a tab and its
/// label, and an empty line ends a text; if a word has several tokens, the first one gets the
/// label.
class ClassifyTask : public Task {
 public:
  /// The configuration must outlive it.
  explicit ClassifyTask(const TrainConfig& config);

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t epoch_examples() const override { return training_; }
  std::int64_t validation_examples() const override;
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return tokens_; }
  std::string sizes() const override;

 private:
  struct Words {  // of one text; if texts have labels, one word that is the whole text
    std::vector<std::string> words, labels;
    std::string place;
  };
  bool by_text() const { return config_.label == "text"; }
  std::vector<Words> read_texts();
  void name_labels(const std::vector<Words>& texts);
  Example example_of(const Words& text) const;

  const TrainConfig& config_;
  TaskData data_;
  SpecialTokens special_;
  std::vector<Example> examples_;
  std::int64_t training_ = 0;
  std::int64_t tokens_ = 1;
};

}  // namespace heed
