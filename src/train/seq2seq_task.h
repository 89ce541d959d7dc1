// Translation: pairs of lines, the decoder fed with what it should have written (teacher forcing).
#pragma once

#include "train/special_tokens.h"
#include "train/task.h"

namespace heed {

struct TokenPair {
  std::vector<TokenId> source;  // with the tokenizer's frame
  std::vector<TokenId> target;  // without an end
};

class Seq2seqTask : public Task {
 public:
  /// Reads the lines of `data` and, beside them, of `targets`. The configuration must outlive it.
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
  std::int64_t training_ = 0;  // of them, the rest is for validation
  std::int64_t tokens_ = 1;
};

/// The decoder reads `start` and the target, and should write the target and `end`.
void put_pair(const TokenPair& pair, TokenId start, TokenId end, Example& example);

/// What the decoder begins with: the padding token, as Marian and T5 have it, else the end.
TokenId start_token_of(const SpecialTokens& special);

/// Special tokens of a language that is written; fails where it has no end.
SpecialTokens writing_tokens_of(const Tokenizer& tokenizer, std::string_view key);

}  // namespace heed
