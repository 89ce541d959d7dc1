// What a model is trained for. A task makes examples from data; the loss is the cross entropy of
// the model's answers where the examples have targets, so a task is defined by its targets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "heed/train.h"
#include "models/training_config.h"
#include "train/crops.h"
#include "train/special_tokens.h"

namespace heed {

struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

/// The description of a task's data, for cards, checkpoints and the model.
struct TaskData {
  std::vector<DataFile> files;  // empty: generated
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Tokenizer> target_tokenizer;  // for a translation with two vocabularies
  TokenId separator = -1;           // between files: <|endoftext|>, or the begin token; -1: none
  std::vector<std::string> labels;  // for classification
  std::uint64_t digest = 0;         // of everything that the run reads
};

class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskData& data() const = 0;
  /// The data's requirements for the model; its size comes from the configuration.
  virtual TrainingShape shape() const = 0;
  /// Called on the training thread before a step makes these examples.
  virtual void prepare(std::int64_t /*first*/, std::int64_t /*count*/) {}
  /// Fills an empty example: the run's number `index`. Depends only on the seed and the index, so
  /// that a resumed run, or one divided into passes differently, sees the same.
  virtual void make(std::int64_t index, Example& example) const = 0;
  /// Number of targets that `make` would produce; the default makes the example.
  virtual std::int64_t counted(std::int64_t index) const;
  /// Examples per epoch; 0: endless.
  virtual std::int64_t epoch_examples() const { return 0; }
  /// Number of validation examples; 0: no validation.
  virtual std::int64_t validation_examples() const = 0;
  /// Validation example `index` of `count`, the same each time.
  virtual void make_validation(std::int64_t index, std::int64_t count, Example& example) const = 0;
  /// Average tokens per example, for reporting progress and dividing passes.
  virtual std::int64_t tokens_an_example() const = 0;
  /// The card's text about the size of both parts.
  virtual std::string sizes() const = 0;
  /// Whether the share of right answers is a usual measure for this task.
  virtual bool has_accuracy() const { return true; }
};

/// Makes the configured task and reads its data. Errors name the key. Configuration and batches
/// must outlive it; the configuration gets the number of steps for its `epochs`.
std::unique_ptr<Task> make_task(TrainConfig& config, const TokenBatches* batches = nullptr);

/// By `generate`, `generate_length` and `task`. The configuration must outlive it.
std::unique_ptr<Task> make_generated_task(const TrainConfig& config);

struct TextData;

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
