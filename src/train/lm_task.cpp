#include "train/lm_task.h"

#include <algorithm>
#include <cmath>

#include "train/crops.h"

namespace heed {

TrainingShape LmTask::shape() const {
  TrainingShape shape = {.vocabulary = data_.tokenizer->vocabulary_size()};
  if (data_.separator >= 0) shape.end_tokens = {data_.separator};
  return shape;
}

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

}  // namespace

std::optional<std::int64_t> LmTask::random_period(std::int64_t index) const {
  Random random =
      random_for(RandomUse::kRandomRepeats, static_cast<std::uint64_t>(config_.seed), index);
  if (random.uniform() >= config_.random_repeats) return std::nullopt;
  return drawn_period(random, config_.block, 4);
}

std::int64_t LmTask::counted(std::int64_t index) const {
  return length() - random_period(index).value_or(0);
}

void LmTask::make_random(std::int64_t index, std::int64_t period, Example& example) const {
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

void LmTask::make_piece(std::int64_t index, Example& example) const {
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  const std::int64_t begin = config_.epochs > 0
                                 ? shuffled(seed, index, epoch_examples()) * length()
                                 : random_crop(seed, index, std::ssize(data_.train), length());
  if (const auto period = repeat_period(seed, index, config_.repeats, length()))
    repeated_crop(data_.train, begin, length(), *period, example);
  else
    crop(data_.train, begin, length(), example);
}

// The token after it is never a target, because a piece begins in the middle of a text.
void LmTask::put_first(Example& example) const {
  if (data_.first < 0) return;
  example.ids.insert(example.ids.begin(), data_.first);
  example.targets.insert(example.targets.begin(), kIgnoredTarget);
}

void LmTask::make(std::int64_t index, Example& example) const {
  if (const auto period = random_period(index))
    make_random(index, *period, example);
  else
    make_piece(index, example);
  put_first(example);
}

std::int64_t LmTask::epoch_examples() const { return (std::ssize(data_.train) - 1) / length(); }

std::int64_t LmTask::validation_examples() const {
  return config_.validation == 0 ? 0 : (std::ssize(data_.validation) - 1) / length();  // disjoint
}

void LmTask::make_validation(std::int64_t index, std::int64_t count, Example& example) const {
  const std::int64_t begin = even_crop(index, count, std::ssize(data_.validation), length());
  crop(data_.validation, begin, length(), example);
  put_first(example);
}

}  // namespace heed
