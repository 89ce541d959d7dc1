// Translation: pairs of lines, with the expected output fed to the decoder (teacher forcing).
#pragma once

#include "models/training_config.h"
#include "train/special_tokens.h"
#include "train/task.h"

namespace heed {

struct TokenPair {
  std::vector<TokenId> source;  // with the tokenizer's frame
  std::vector<TokenId> target;  // without an end token
};

class Seq2seqTask : public Task {
 public:
  /// Reads the lines of `data` and the corresponding lines of `targets`. The configuration must
  /// outlive it.
  explicit Seq2seqTask(const TrainConfig& config);

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override;
  void make(std::int64_t index, Example& example) const override;
  std::int64_t counted(std::int64_t index) const override;
  std::int64_t epoch_examples() const override { return training_; }
  std::int64_t validation_examples() const override;
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override;
  std::int64_t tokens_an_example() const override { return tokens_; }
  std::string sizes() const override;

 private:
  void read_pairs(std::span<const struct TextLine> sources, std::span<const TextLine> targets);
  const TokenPair& pair_of(std::int64_t index) const;

  const TrainConfig& config_;
  TaskData data_;
  SpecialTokens target_special_;
  std::vector<TokenPair> pairs_;
  std::int64_t training_ = 0;  // number for training; the rest is for validation
  std::int64_t tokens_ = 1;
};

/// The decoder reads `start` and the target, and should output the target and `end`.
void put_pair(const TokenPair& pair, TokenId start, TokenId end, Example& example);

/// The decoder's first token: the padding token, like in Marian and T5, else the end token.
TokenId start_token_of(const SpecialTokens& special);

/// Special tokens of an output language; throws if it has no end token.
SpecialTokens writing_tokens_of(const Tokenizer& tokenizer, std::string_view key);

}  // namespace heed
