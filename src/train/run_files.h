// The files that a run writes: losses, samples, checkpoints, the model and its card (card.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "heed/tokenizer.h"
#include "heed/train.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/task.h"

namespace heed {

/// Samples from the model while it learns (samples.txt of a run), and its answers.
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

/// For the first validation examples, or without validation the first training examples: the
/// input, the expected answer, and the model's answer at each expected place. Decoded by the
/// tokenizers.
std::string answered_examples(const Task& task, const Model& model);

/// A CSV file of a run, one row per step. A row is a single write, so a killed run leaves complete
/// rows.
class StepCsv {
 public:
  /// Opens or creates the file; `header` includes its line end. Removes rows after `step`, an
  /// incomplete last row, and everything if the header differs.
  StepCsv(std::filesystem::path path, std::string_view header, std::int64_t step);
  ~StepCsv();
  StepCsv& operator=(StepCsv&&) = delete;

  /// `row` begins with the step and includes its line end.
  void append(std::string_view row);
  /// Flushes to disk, before a checkpoint records that step.
  void flush();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// A row of loss.csv: the results of one step.
struct LossRow {
  std::int64_t step = 0;
  double train_loss = 0;
  std::optional<double> validation_loss;
  double learning_rate = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  std::optional<double> accuracy = {};  // for tasks with right answers
};

class LossCsv {
 public:
  /// Like StepCsv, with a last column for the accuracy if there is one.
  LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy = false);

  void append(const LossRow& row);
  void flush() { csv_.flush(); }

 private:
  StepCsv csv_;
  bool has_accuracy_;
};

/// The part of the model to which a parameter's gradient is counted: its layer (`transformer.h.3`),
/// or outside layers its module (`transformer.wte`).
std::string part_of_model(std::string_view parameter);

/// gradient_norms.csv: the gradient norm of each part of the model.
class GradientNorms {
 public:
  /// Like StepCsv. One column for the whole gradient and one per part of the model, in the order of
  /// the parameters.
  GradientNorms(std::filesystem::path path, std::int64_t step,
                std::span<const Parameter* const> parameters);

  /// `squares`: the squared Euclidean norm of each parameter's gradient, before clipping.
  void append(std::int64_t step, std::span<const double> squares);
  void flush() { csv_.flush(); }

 private:
  std::vector<std::string> parts_;
  std::vector<std::size_t> part_of_;  // for each parameter
  std::vector<double> sums_;          // one per part
  StepCsv csv_;
};

class RunFiles {
 public:
  /// All must outlive it. A prompt that the model cannot start from is an error.
  RunFiles(const RunFolder& folder, const TrainConfig& config, const Task& task,
           const Model& model);

  /// Removes what was written after the state.
  void begin(const TrainState& state);
  void append(const LossRow& row) { losses_->append(row); }
  /// Like GradientNorms::append; call it before the step's losses.
  void append_norms(std::int64_t step, std::span<const double> squares) {
    norms_->append(step, squares);
  }
  /// Flushes the losses to disk first, so that a checkpoint never refers to lost rows.
  void save_checkpoint(const TrainState& state, const Trained& trained);
  /// The model's sample after this step.
  std::string add_sample(std::int64_t step) { return samples_->add(step); }
  void save_best_model() const { save(folder_.model()); }
  void save(const std::filesystem::path& folder) const;
  void write_card(const TrainResult& result) const;

 private:
  const RunFolder& folder_;
  const TrainConfig& config_;
  const Task& task_;
  const Model& model_;
  std::unique_ptr<Samples> samples_;  // null: none are requested
  std::unique_ptr<LossCsv> losses_;   // after `begin`
  std::unique_ptr<GradientNorms> norms_;
};

struct Card {
  const TrainConfig& config;
  const Task& task;
  const Model& model;
  const TrainResult& result;
};

std::string to_markdown(const Card& card);

/// From the content of a loss.csv: training loss (means of at most 400 segments) and validation
/// loss over the steps. Light or dark like the viewer.
std::string loss_svg(std::string_view csv);

void write_loss_svg(const std::filesystem::path& csv, const std::filesystem::path& svg);

}  // namespace heed
