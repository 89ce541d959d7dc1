#include "train/lm_task.h"

#include "train/crops.h"

namespace heed {

TrainingShape LmTask::shape() const {
  TrainingShape shape = {.vocabulary = data_.tokenizer->vocabulary_size()};
  if (data_.separator >= 0) shape.end_tokens = {data_.separator};
  return shape;
}

void LmTask::make(std::int64_t index, Example& example) const {
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
