// Masked tokens of running text (Devlin et al. 2019, section 3.1, task 1).
#pragma once

#include "base/philox.h"
#include "models/training_config.h"
#include "train/special_tokens.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {

/// The model must predict a fraction `masked` of a crop's tokens: 80 % of them are replaced by the
/// mask token, 10 % by a random one, and 10 % are unchanged. With `whole_words` the tokens of a
/// word are chosen together. Crops are in the tokenizer's frame ([CLS] ... [SEP]). A fraction
/// `pairs` of the examples are two texts ([CLS] A [SEP] B [SEP]): in half of them B continues after
/// A; in the others it begins inside A, so that tokens masked in one text can be read in the other,
/// as in translation language modelling (Lample & Conneau 2019, section 3.3).
class MlmTask : public Task {
 public:
  /// The configuration must outlive it.
  MlmTask(const TrainConfig& config, TextData data);

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t epoch_examples() const override;
  std::int64_t validation_examples() const override;
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override { return stream_sizes(config_, data_); }

 private:
  std::int64_t frame_tokens() const;
  std::int64_t text_tokens() const;
  // The text from `begin` in a stream, alone or as a pair.
  void frame(std::span<const TokenId> stream, std::int64_t begin, Random& random,
             Example& example) const;
  void frame_pair(std::span<const TokenId> text, Random& random, Example& example) const;
  void mask(Random& random, Example& example) const;
  // Positions [begin, end) of tokens that are masked together.
  struct Word {
    std::int64_t begin, end;
  };
  std::vector<Word> words_of(const Example& example) const;
  TokenId random_token(Random& random) const;

  const TrainConfig& config_;
  TextData data_;
  SpecialTokens special_;
  PairFrame pair_;
  std::vector<bool> is_special_;   // by id
  std::vector<bool> begins_word_;  // by id
};

}  // namespace heed
