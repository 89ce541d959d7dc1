#include "train/lm_task.h"

#include <algorithm>

#include "train/crops.h"

namespace heed {

TrainingShape LmTask::shape() const {
  TrainingShape shape = {.vocabulary = data_.tokenizer->vocabulary_size()};
  if (data_.separator >= 0) shape.end_tokens = {data_.separator};
  return shape;
}

std::optional<std::int64_t> LmTask::random_period(std::int64_t index) const {
  return repeat_period(static_cast<std::uint64_t>(config_.seed), index, config_.random_repeats,
                       config_.block, RandomUse::kRandomRepeats);
}

std::int64_t LmTask::counted(std::int64_t index) const {
  return config_.block - random_period(index).value_or(0);
}

void LmTask::make_random(std::int64_t index, std::int64_t period, Example& example) const {
  Random random = random_for(RandomUse::kRandomTokens, static_cast<std::uint64_t>(config_.seed),
                             index, kWordsOfExample);
  const Tokenizer& tokenizer = *data_.tokenizer;
  const auto vocabulary = static_cast<std::uint64_t>(tokenizer.vocabulary_size());
  std::vector<TokenId> tokens;
  while (std::ssize(tokens) < period)
    if (const auto id = static_cast<TokenId>(random.below(vocabulary)); !tokenizer.is_special(id))
      tokens.push_back(id);
  repeated_crop(tokens, 0, config_.block, period, example);
  std::fill_n(example.targets.begin(), period, kIgnoredTarget);
}

void LmTask::make(std::int64_t index, Example& example) const {
  if (const auto period = random_period(index)) return make_random(index, *period, example);
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  const std::int64_t begin = random_crop(seed, index, std::ssize(data_.train), config_.block);
  if (const auto period = repeat_period(seed, index, config_.repeats, config_.block))
    repeated_crop(data_.train, begin, config_.block, *period, example);
  else
    crop(data_.train, begin, config_.block, example);
}

std::int64_t LmTask::validation_examples() const {
  return config_.validation == 0 ? 0
                                 : (std::ssize(data_.validation) - 1) / config_.block;  // disjoint
}

void LmTask::make_validation(std::int64_t index, std::int64_t count, Example& example) const {
  const std::int64_t begin = even_crop(index, count, std::ssize(data_.validation), config_.block);
  crop(data_.validation, begin, config_.block, example);
}

}  // namespace heed
