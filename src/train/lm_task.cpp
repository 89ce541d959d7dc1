// Next-token prediction for running text, and for random tokens that repeat.
#include <algorithm>
#include <cmath>
#include <optional>

#include "train/crops.h"
#include "train/tasks.h"

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

}  // namespace heed
