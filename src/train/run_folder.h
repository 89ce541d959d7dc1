// The folder of one run: who may write to it, what it contains, and what may be deleted.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "heed/train.h"
#include "train/checkpoint.h"

namespace heed {

/// Locks the folder while it lives: a second trainer is refused.
class RunFolder {
 public:
  /// Creates the folder if it is missing. It is an error if it holds a run and `resume` is false;
  /// nothing is then touched. Removes partial files of a killed run. Folders that it created are
  /// removed if nothing was written to them.
  RunFolder(std::filesystem::path path, bool resume);
  ~RunFolder();
  RunFolder& operator=(RunFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "run.json"; }
  std::filesystem::path losses() const { return path_ / "loss.csv"; }
  std::filesystem::path gradient_norms() const { return path_ / "gradient_norms.csv"; }
  std::filesystem::path picture() const { return path_ / "loss.svg"; }
  std::filesystem::path samples() const { return path_ / "samples.txt"; }
  std::filesystem::path model() const { return path_ / "model"; }

  /// The state of the last readable checkpoint; unreadable ones are reported and skipped. It is an
  /// error if none can be read: starting again would lose the run.
  struct Found {
    std::filesystem::path path;
    TrainState state;
  };
  std::optional<Found> last_checkpoint(TrainListener& listener) const;

  /// Keeps the last two.
  void remove_old_checkpoints() const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // by this object, innermost first
  int lock_ = -1;
};

/// An error if a key that decides the losses differs; it names the key and both values.
void check_same_run(const TrainConfig& stored, const TrainConfig& wanted);

/// Reports a different machine, on which losses may differ slightly.
void tell_differences(const TrainState& before, const TrainState& now, TrainListener& listener);

}  // namespace heed
