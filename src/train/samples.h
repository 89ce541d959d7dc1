// What the model writes while it learns (samples.txt of a run), and what it answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"
#include "heed/train/train.h"
#include "train/task.h"

namespace heed {

class Samples {
 public:
  /// Model and task must outlive it. A prompt that the model cannot start from is an error, here
  /// rather than after an hour.
  Samples(std::filesystem::path path, const TrainConfig& config, const Model& model,
          const Task& task);

  /// A resumed run writes the samples after `step` again.
  void forget_after(std::int64_t step);
  /// Lets the model write on from the prompt, or of a task with right answers answer some examples;
  /// puts that below a line `--- step N` at the end of the file, and returns both.
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

/// Of the first examples for validation (of training, where there are none): what the model reads,
/// what is wanted, and what it answers, each answer where it is asked. Texts by the tokenizers.
std::string answered_examples(const Task& task, const Model& model);

}  // namespace heed
