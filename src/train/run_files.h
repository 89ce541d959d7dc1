// The files that a run writes: losses, samples, checkpoints, the model and its card (card.md).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "heed/model.h"
#include "heed/train.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/samples.h"
#include "train/step_csv.h"
#include "train/task.h"

namespace heed {

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
