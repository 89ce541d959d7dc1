// The tasks that a run can have, apart from generated ones (task.cpp). The configuration, and
// batches, must outlive a task.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "train/special_tokens.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {

/// Next-token prediction for running text: all positions at once, under a causal mask.
std::unique_ptr<Task> make_lm_task(const TrainConfig& config, TextData data);

/// Masked tokens of running text (Devlin et al. 2019, section 3.1, task 1).
std::unique_ptr<Task> make_mlm_task(const TrainConfig& config, TextData data);

/// Labels for texts, or for their tokens.
std::unique_ptr<Task> make_classify_task(const TrainConfig& config);

/// Translation: pairs of lines, with the expected output fed to the decoder (teacher forcing).
std::unique_ptr<Task> make_seq2seq_task(const TrainConfig& config);

/// Next-token prediction for token ids from the caller's own data loader. Checks the validation
/// batches.
std::unique_ptr<Task> make_batches_task(const TrainConfig& config, const TokenBatches& batches);

struct TokenPair {
  std::vector<TokenId> source;  // with the tokenizer's frame
  std::vector<TokenId> target;  // without an end token
};

/// The decoder reads `start` and the target, and should output the target and `end`.
void put_pair(const TokenPair& pair, TokenId start, TokenId end, Example& example);

/// The decoder's first token: the padding token, like in Marian and T5, else the end token.
TokenId start_token_of(const SpecialTokens& special);

/// Special tokens of an output language; throws if it has no end token.
SpecialTokens writing_tokens_of(const Tokenizer& tokenizer, std::string_view key);

}  // namespace heed
