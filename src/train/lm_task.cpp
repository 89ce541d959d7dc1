// Next-token prediction for running text, for random tokens that repeat, and for batches of the
// caller.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/digest.h"
#include "base/wording.h"
#include "heed/error.h"
#include "train/crops.h"
#include "train/initial_weights.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {
namespace {

// Uniform over the octaves from `least` to `most`.
std::int64_t drawn_size(Random& random, std::int64_t least, std::int64_t most) {
  if (most <= least) return most;
  const auto [low, high] = std::pair(static_cast<double>(least), static_cast<double>(most));
  return static_cast<std::int64_t>(low * std::pow(high / low, random.uniform()));
}

// Matching a token with an equal one is learned first among few tokens, and then works for all.
// Periods below a quarter of the sequence prevent it: if a few tokens return often, guessing among
// them is nearly as good (6 layers, 1,000 steps of 64 sequences of 64 tokens: nothing learned).
constexpr std::int64_t kFewest = 64;  // tokens, from the beginning of the vocabulary

class LmTask : public Task {
 public:
  LmTask(const TrainConfig& config, TextData data) : config_(config), data_(std::move(data)) {}

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override {
    TrainingShape shape = {.vocabulary = data_.tokenizer->vocabulary_size()};
    if (data_.separator >= 0) shape.end_tokens = {data_.separator};
    return shape;
  }
  void make(std::int64_t index, Example& example) const override {
    if (const auto period = random_period(index))
      make_random(index, *period, example);
    else
      make_piece(index, example);
    put_first(example);
  }

  std::int64_t counted(std::int64_t index) const override {
    return length() - random_period(index).value_or(0);
  }
  std::int64_t epoch_examples() const override { return (std::ssize(data_.train) - 1) / length(); }
  std::int64_t validation_examples() const override {
    return config_.validation == 0 ? 0 : (std::ssize(data_.validation) - 1) / length();  // disjoint
  }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override {
    const std::int64_t begin = even_crop(index, count, std::ssize(data_.validation), length());
    crop(data_.validation, begin, length(), example);
    put_first(example);
  }
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override { return stream_sizes(config_, data_); }
  bool has_accuracy() const override { return false; }  // text has no single right next token

 private:
  // Number of text tokens in an example: without the token it begins with, if any.
  std::int64_t length() const { return config_.block - (data_.first < 0 ? 0 : 1); }
  // The token after it is never a target, because a piece begins in the middle of a text.
  void put_first(Example& example) const {
    if (data_.first < 0) return;
    example.ids.insert(example.ids.begin(), data_.first);
    example.targets.insert(example.targets.begin(), kIgnoredTarget);
  }
  void make_piece(std::int64_t index, Example& example) const {
    const auto seed = static_cast<std::uint64_t>(config_.seed);
    const std::int64_t begin = config_.epochs > 0
                                   ? shuffled(seed, index, epoch_examples()) * length()
                                   : random_crop(seed, index, std::ssize(data_.train), length());
    if (const auto period = repeat_period(seed, index, config_.repeats, length()))
      repeated_crop(data_.train, begin, length(), *period, example);
    else
      crop(data_.train, begin, length(), example);
  }

  // For examples of repeated random tokens; empty for the others.
  std::optional<std::int64_t> random_period(std::int64_t index) const {
    Random random =
        random_for(RandomUse::kRandomRepeats, static_cast<std::uint64_t>(config_.seed), index);
    if (random.uniform() >= config_.random_repeats) return std::nullopt;
    return drawn_period(random, config_.block, 4);
  }
  // Targets are what an induction head can know: the tokens after those that have occurred before.
  void make_random(std::int64_t index, std::int64_t period, Example& example) const {
    Random random = random_for(RandomUse::kRandomTokens, static_cast<std::uint64_t>(config_.seed),
                               index, kWordsOfExample);
    const Tokenizer& tokenizer = *data_.tokenizer;
    const std::int64_t all = tokenizer.vocabulary_size();
    const auto among =
        static_cast<std::uint64_t>(drawn_size(random, std::max(kFewest, 4 * period), all));
    std::vector<TokenId> tokens;
    while (std::ssize(tokens) < period) {
      const auto id = static_cast<TokenId>(random.below(among));
      const bool is_new = among < 4 * static_cast<std::uint64_t>(period) ||
                          std::ranges::find(tokens, id) == tokens.end();
      if (is_new && !tokenizer.is_special(id)) tokens.push_back(id);
    }
    repeated_crop(tokens, 0, length(), period, example);
    std::fill_n(example.targets.begin(), period, kIgnoredTarget);
  }

  const TrainConfig& config_;
  TextData data_;
};

}  // namespace

std::unique_ptr<Task> make_lm_task(const TrainConfig& config, TextData data) {
  return std::make_unique<LmTask>(config, std::move(data));
}

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
