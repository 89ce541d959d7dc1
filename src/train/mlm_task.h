// Masked tokens of running text (Devlin et al. 2019, section 3.1, task 1).
#pragma once

#include "base/philox.h"
#include "train/special_tokens.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {

/// Of a share of `masked` of a crop's tokens the model has to say what stood there: 80 % of them
/// are replaced by the mask token, 10 % by a random one, and 10 % are left. With `whole_words` the
/// tokens of a word are chosen together. Crops stand in the tokenizer's frame ([CLS] ... [SEP]).
class MlmTask : public Task {
 public:
  /// The configuration must outlive it.
  MlmTask(const TrainConfig& config, TextData data);

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t validation_examples() const override;
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override { return stream_sizes(config_, data_); }

 private:
  std::int64_t text_tokens() const;
  void frame(std::span<const TokenId> text, Example& example) const;
  void mask(Random& random, Example& example) const;
  // Positions [begin, end) of tokens that are chosen together.
  struct Word {
    std::int64_t begin, end;
  };
  std::vector<Word> words_of(const Example& example) const;
  TokenId random_token(Random& random) const;

  const TrainConfig& config_;
  TextData data_;
  SpecialTokens special_;
  std::vector<bool> is_special_;   // by id
  std::vector<bool> begins_word_;  // by id
};

}  // namespace heed
