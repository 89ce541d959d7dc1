// The folder of one run: who may write into it, what it holds, what may be thrown away.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "heed/train/train.h"
#include "train/checkpoint.h"

namespace heed {

/// Owns the folder while it lives: a second trainer is refused.
class RunFolder {
 public:
  /// Creates it where it is missing. Holds a run and `resume` is false: an error, nothing touched.
  /// Partial files that a killed run left are removed. What it created goes with it where nothing
  /// was written into it.
  RunFolder(std::filesystem::path path, bool resume);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "run.json"; }
  std::filesystem::path losses() const { return path_ / "loss.csv"; }
  std::filesystem::path gradient_norms() const { return path_ / "gradient_norms.csv"; }
  std::filesystem::path picture() const { return path_ / "loss.svg"; }
  std::filesystem::path samples() const { return path_ / "samples.txt"; }
  std::filesystem::path model() const { return path_ / "model"; }

  /// The state of the last checkpoint that can be read; unreadable ones are told and passed over.
  /// Checkpoints of which none can be read are an error: starting again would lose the run.
  struct Found {
    std::filesystem::path path;
    TrainState state;
  };
  std::optional<Found> last_checkpoint(TrainListener& listener) const;

  /// Keeps the last two.
  void remove_old_checkpoints() const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // by this object, the innermost first
  int lock_ = -1;
};

/// A key that decides the losses and differs is an error that names it and both values.
void check_same_run(const TrainConfig& stored, const TrainConfig& wanted);

/// Tells of another machine, on which losses may differ a little.
void tell_differences(const TrainState& before, const TrainState& now, TrainListener& listener);

}  // namespace heed
