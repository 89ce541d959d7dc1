// What a model is trained for. A task makes examples from data; the loss is the cross entropy of
// the model's answers where the examples ask for one, so a task decides it by its targets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/models/registry.h"
#include "heed/train/train.h"
#include "train/example.h"

namespace heed {

struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

/// What a task's data are, for cards, checkpoints and the model.
struct TaskData {
  std::vector<DataFile> files;  // none: generated
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Tokenizer> target_tokenizer;  // of a translation with two vocabularies
  TokenId separator = -1;           // between files: <|endoftext|>, or what begins a text; -1: none
  std::vector<std::string> labels;  // of classes
  std::uint64_t digest = 0;         // of everything that the run reads
};

class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskData& data() const = 0;
  /// What the data ask of the model; its size is left to the configuration.
  virtual TrainingShape shape() const = 0;
  /// Adds to an empty example: number `index` of the run, a function of the seed and the index
  /// alone, so that a resumed run, or one with another cut into passes, sees the same.
  virtual void make(std::int64_t index, Example& example) const = 0;
  /// Targets that `make` asks for; the default makes the example.
  virtual std::int64_t counted(std::int64_t index) const;
  /// Examples that an epoch takes once each; 0: endless.
  virtual std::int64_t epoch_examples() const { return 0; }
  /// Examples for validation; 0: there is no such part.
  virtual std::int64_t validation_examples() const = 0;
  /// Number `index` of `count` examples for validation, the same each time.
  virtual void make_validation(std::int64_t index, std::int64_t count, Example& example) const = 0;
  /// Tokens of an example, on average: of progress and of the cut into passes.
  virtual std::int64_t tokens_an_example() const = 0;
  /// What the card says of the size of both parts.
  virtual std::string sizes() const = 0;
  /// Whether the share of right answers is a figure that people know of this task.
  virtual bool has_accuracy() const { return true; }
};

/// As the configuration says; reads its data. Errors name the key. The configuration must outlive
/// it, and gets the steps that its `epochs` take.
std::unique_ptr<Task> make_task(TrainConfig& config);

/// As `generate`, `generate_length` and `task` say. The configuration must outlive it.
std::unique_ptr<Task> make_generated_task(const TrainConfig& config);

}  // namespace heed
