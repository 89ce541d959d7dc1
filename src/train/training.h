// One run from its start, or its last checkpoint, to its end; or one process's part of it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/train.h"
#include "train/adamw.h"
#include "train/checkpoint.h"
#include "train/passes.h"
#include "train/peers.h"
#include "train/run_files.h"
#include "train/task.h"

namespace heed {

class Training {
 public:
  /// All must outlive it. The folder is null if another process writes.
  Training(const TrainArgs& args, const Peers& peers, const RunFolder* folder,
           TrainListener& listener);

  /// The values that every process must have in common.
  void require_alike() const;
  /// The first process reads the checkpoint and sends it to the others.
  void take_from_first();
  void go_on_from(const std::optional<RunFolder::Found>& found);
  TrainResult run();

 private:
  std::int64_t tokens_a_step() const;
  bool finished() const;
  bool go_on();
  // For work that changes nothing before its end: `stopped` may abandon it.
  template <typename Work>
  auto leavable(const Work& work) const;
  void prepare(std::int64_t examples);  // of the next step
  void step();
  void record();
  void write_row(double rate, const std::optional<Evaluation>& validation);
  std::optional<double> accuracy_of(const std::optional<Evaluation>& found) const;
  std::optional<Evaluation> evaluate();
  void save_checkpoint();
  // The sum of the squares of all weights, which must be the same on all processes.
  double require_good_weights() const;
  void report(double rate, const std::optional<Evaluation>& validation);
  double tokens_per_second() const;
  std::string last_checkpoint() const;
  [[noreturn]] void fail_not_finite(std::string_view what, double value) const;
  [[noreturn]] void stop();
  TrainResult finish();

  TrainConfig config_;  // with the number of steps from epochs
  const std::atomic<bool>* stopped_;
  std::filesystem::path folder_;
  Peers peers_;
  TrainListener& listener_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Model> model_;
  std::vector<Parameter*> parameters_;
  Gradients gradients_;
  AdamW optimizer_;
  Passes passes_;
  std::optional<RunFiles> files_;  // on the first process
  TrainState state_;
  std::int64_t saved_step_ = -1;  // of the last checkpoint; -1: none
  std::int64_t first_step_ = 0;   // of this session
  double norm_ = 0;               // of the last gradient
  double session_begin_ = 0;
  double earlier_seconds_ = 0;  // of earlier sessions
  double step_seconds_ = 0;     // of this session, without evaluations and checkpoints
};

}  // namespace heed
