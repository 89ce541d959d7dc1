// loss.csv: one row a step. A row is one write, so a kill leaves whole rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace heed {

struct LossRow {
  std::int64_t step = 0;
  double train_loss = 0;
  std::optional<double> validation_loss;
  double learning_rate = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  std::optional<double> accuracy = {};  // of tasks that have right answers
};

class LossCsv {
 public:
  /// Opens or begins the file, with a last column for the accuracy where there is one. Rows past
  /// `step` and a torn last one are cut off.
  LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy = false);
  ~LossCsv();
  LossCsv(const LossCsv&) = delete;
  LossCsv& operator=(const LossCsv&) = delete;

  void append(const LossRow& row);
  /// To the disk, before a checkpoint of that step says that it happened.
  void flush();

 private:
  std::filesystem::path path_;
  bool has_accuracy_;
  int descriptor_ = -1;
};

}  // namespace heed
