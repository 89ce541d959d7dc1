// Next-token prediction for token ids from the caller's own data loader.
#pragma once

#include <vector>

#include "models/training_config.h"
#include "train/task.h"

namespace heed {

class BatchesTask : public Task {
 public:
  /// Both must outlive it. Checks the validation batches.
  BatchesTask(const TrainConfig& config, const TokenBatches& batches);

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  /// Takes batches until they cover these examples. A resumed run reads and drops the batches of
  /// the steps that are done.
  void prepare(std::int64_t first, std::int64_t count) override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t counted(std::int64_t index) const override;
  std::int64_t validation_examples() const override { return std::ssize(validation_); }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override;
  bool has_accuracy() const override { return false; }

 private:
  using Rows = std::vector<std::vector<TokenId>>;

  // Appends the sequences of a batch; `place` names it in errors.
  void add(const TokenRows& batch, std::string_view place, Rows& rows) const;

  const TrainConfig& config_;
  const TokenBatches& batches_;
  TaskData data_;
  std::int64_t vocabulary_ = 0;  // ids that the model knows
  Rows rows_;                    // of the step
  std::int64_t first_ = 0;       // the index of rows_[0]
  std::int64_t taken_ = 0;       // batches so far
  Rows validation_;
};

}  // namespace heed
