// Everything that a run needs to continue as if it had never stopped, in one file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/model.h"
#include "train/adamw.h"

namespace heed {

/// Everything except tensors. Random choices depend on seed and step, so the step also determines
/// them.
struct TrainState {
  std::int64_t step = 0;
  double loss = 0;
  std::optional<double> validation_loss;
  std::optional<double> best_loss;
  std::optional<double> best_accuracy;
  std::int64_t best_step = 0;
  std::int64_t stale = 0;  // evaluations since the best one
  double seconds = 0;
  std::uint64_t data_digest = 0;
  std::string cpu;
  int threads = 0;       // per process
  int ranks = 1;         // number of processes that trained together
  std::string config;    // as written by to_json(TrainConfig)
  bool recorded = true;  // false: the step's evaluation and row of loss.csv are missing
};

std::string to_json(const TrainState& state);
/// `origin` names the text in errors.
TrainState parse_state(const std::string& text, const std::string& origin);

/// The tensors of a checkpoint: the model's parameters and the optimizer's moments, by reference.
struct Trained {
  std::span<Parameter* const> parameters;
  AdamW& optimizer;
};

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t step);

/// The checkpoints of a folder, latest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

void write_checkpoint(const std::filesystem::path& path, const TrainState& state,
                      const Trained& trained);

/// Only the state; kCorrupt if the file is not a checkpoint.
TrainState read_state(const std::filesystem::path& path);

/// Reads the tensors in place; kCorrupt names file and tensor.
void read_tensors(const std::filesystem::path& path, const Trained& trained);

}  // namespace heed
