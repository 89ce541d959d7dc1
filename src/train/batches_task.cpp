// Next-token prediction for batches of the caller.
#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/wording.h"
#include "heed/error.h"
#include "train/crops.h"
#include "train/initial_weights.h"
#include "train/tasks.h"

namespace heed {
namespace {

// A tokenizer is optional: ids need none.
std::unique_ptr<Tokenizer> tokenizer_of(const TrainConfig& config) {
  if (config.tokenizer != TrainConfig().tokenizer)
    return make_tokenizer(config, config.tokenizer, /*text=*/"");
  if (config.start_from.empty()) return nullptr;
  return load_model_tokenizer(start_folder(config));
}

std::int64_t vocabulary_of(const TrainConfig& config, const Tokenizer* tokenizer) {
  if (!config.start_from.empty())
    if (const auto model = describe_model(start_folder(config))) return model->info.vocabulary;
  return tokenizer != nullptr ? tokenizer->vocabulary_size() : config.vocabulary;
}

[[noreturn]] void refuse_batch(std::string_view place, std::string found, std::string expected) {
  fail("train", std::string(place), std::move(found), std::move(expected));
}

class BatchesTask : public Task {
 public:
  BatchesTask(const TrainConfig& config, const TokenBatches& batches)
      : config_(config), batches_(batches) {
    data_.tokenizer = tokenizer_of(config);
    vocabulary_ = vocabulary_of(config, data_.tokenizer.get());
    for (std::size_t i = 0; i < batches.validation.size(); ++i)
      add(batches.validation[i], fmt::format("validation_batches[{}]", i), validation_);
    Digest digest;
    for (const std::vector<TokenId>& row : validation_) digest.add(row);
    data_.digest = digest.value();
  }

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override {
    return {.vocabulary = data_.tokenizer ? data_.tokenizer->vocabulary_size() : vocabulary_};
  }
  /// Takes batches until they cover these examples. A resumed run reads and drops the batches of
  /// the steps that are done.
  void prepare(std::int64_t first, std::int64_t count) override {
    rows_.clear();
    first_ = first;
    for (; taken_ * config_.batch < first; ++taken_) batches_.next();
    for (; taken_ * config_.batch < first + count; ++taken_) {
      const TokenRows batch = batches_.next();
      const std::string place = fmt::format("batches[{}]", taken_);
      if (std::ssize(batch) != config_.batch)
        refuse_batch(place, number_of(batch.size(), "row"),
                     fmt::format("{} (batch) in every batch: drop a last one that is smaller",
                                 config_.batch));
      add(batch, place, rows_);
    }
  }

  void make(std::int64_t index, Example& example) const override {
    const std::vector<TokenId>& row = rows_[static_cast<std::size_t>(index - first_)];
    crop(row, 0, std::ssize(row) - 1, example);
  }
  std::int64_t counted(std::int64_t index) const override {
    return std::ssize(rows_[static_cast<std::size_t>(index - first_)]) - 1;
  }
  std::int64_t validation_examples() const override { return std::ssize(validation_); }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override {
    const std::int64_t rows = std::ssize(validation_);
    const std::vector<TokenId>& row = validation_[static_cast<std::size_t>(index * rows / count)];
    crop(row, 0, std::ssize(row) - 1, example);
  }
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override {
    return fmt::format("{} for validation.\n", number_of(validation_.size(), "sequence"));
  }
  bool has_accuracy() const override { return false; }

 private:
  using Rows = std::vector<std::vector<TokenId>>;

  // Appends the sequences of a batch; `place` names it in errors.
  void add(const TokenRows& batch, std::string_view place, Rows& rows) const {
    for (std::size_t r = 0; r < batch.size(); ++r) {
      const std::vector<std::int64_t>& row = batch[r];
      if (row.size() < 2 || std::ssize(row) > config_.block + 1)
        refuse_batch(place, fmt::format("{} in row {}", number_of(row.size(), "token"), r),
                     fmt::format("2 to {} (block + 1), as each token's target is the next one",
                                 config_.block + 1));
      const auto wrong =
          std::ranges::find_if(row, [&](std::int64_t id) { return id < 0 || id >= vocabulary_; });
      if (wrong != row.end())
        refuse_batch(place, fmt::format("{} in row {}, column {}", *wrong, r, wrong - row.begin()),
                     fmt::format("ids from 0 to {}, the model's vocabulary", vocabulary_ - 1));
      rows.emplace_back(row.begin(), row.end());
    }
  }

  const TrainConfig& config_;
  const TokenBatches& batches_;
  TaskData data_;
  std::int64_t vocabulary_ = 0;  // ids that the model knows
  Rows rows_;                    // of the step
  std::int64_t first_ = 0;       // the index of rows_[0]
  std::int64_t taken_ = 0;       // batches so far
  Rows validation_;
};

}  // namespace

std::unique_ptr<Task> make_batches_task(const TrainConfig& config, const TokenBatches& batches) {
  return std::make_unique<BatchesTask>(config, batches);
}

}  // namespace heed
