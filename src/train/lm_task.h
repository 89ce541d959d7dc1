// Next-token prediction for running text: all positions at once, under a causal mask.
#pragma once

#include <optional>

#include "models/training_config.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {

class LmTask : public Task {
 public:
  /// The configuration must outlive it.
  LmTask(const TrainConfig& config, TextData data) : config_(config), data_(std::move(data)) {}

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t counted(std::int64_t index) const override;
  std::int64_t epoch_examples() const override;
  std::int64_t validation_examples() const override;
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override { return stream_sizes(config_, data_); }
  bool has_accuracy() const override { return false; }  // text has no single right next token

 private:
  // Number of text tokens in an example: without the token it begins with, if any.
  std::int64_t length() const { return config_.block - (data_.first < 0 ? 0 : 1); }
  void put_first(Example& example) const;
  void make_piece(std::int64_t index, Example& example) const;  // of the text
  // For examples of repeated random tokens; empty for the others.
  std::optional<std::int64_t> random_period(std::int64_t index) const;
  // Targets are what an induction head can know: the tokens after those that have occurred before.
  void make_random(std::int64_t index, std::int64_t period, Example& example) const;

  const TrainConfig& config_;
  TextData data_;
};

}  // namespace heed
