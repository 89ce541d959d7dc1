// loss.csv: what each step has reached.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "train/step_csv.h"

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
  /// As StepCsv, with a last column for the accuracy where there is one.
  LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy = false);

  void append(const LossRow& row);
  void flush() { csv_.flush(); }

 private:
  StepCsv csv_;
  bool has_accuracy_;
};

}  // namespace heed
