// Samples from the model while it learns (samples.txt of a run), and its answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heed/model.h"
#include "heed/tokenizer.h"
#include "heed/train.h"
#include "train/task.h"

namespace heed {

class Samples {
 public:
  /// Model and task must outlive it. A prompt that the model cannot start from is an error here,
  /// instead of after an hour.
  Samples(std::filesystem::path path, const TrainConfig& config, const Model& model,
          const Task& task);

  /// A resumed run writes the samples after `step` again.
  void forget_after(std::int64_t step);
  /// Lets the model continue the prompt or, for a task with right answers, answer some examples.
  /// Appends the text to the file after a line `--- step N`, and returns both.
  std::string add(std::int64_t step);

 private:
  std::string written() const;

  std::filesystem::path path_;
  std::string prompt_;
  std::uint64_t seed_;
  const Model& model_;
  const Task& task_;
  std::vector<TokenId> ids_;
};

/// For the first validation examples (or training examples, if there are none): the input, the
/// expected answer, and the model's answer at each expected place. Decoded by the tokenizers.
std::string answered_examples(const Task& task, const Model& model);

}  // namespace heed
