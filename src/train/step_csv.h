// The CSV files of a run, one row a step. A row is one write, so a kill leaves whole rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/nn/run.h"

namespace heed {

class StepCsv {
 public:
  /// Opens or begins the file; `header` ends its line. Rows past `step` and a torn last one are cut
  /// off, and all of a file with another header.
  StepCsv(std::filesystem::path path, std::string_view header, std::int64_t step);
  ~StepCsv();
  StepCsv(const StepCsv&) = delete;
  StepCsv& operator=(const StepCsv&) = delete;

  /// `row` begins with the step and ends its line.
  void append(std::string_view row);
  /// To the disk, before a checkpoint of that step says that it happened.
  void flush();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// A row of loss.csv: what each step has reached.
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

/// Where a parameter's gradient counts: its layer (`transformer.h.3`), outside of layers its module
/// (`transformer.wte`).
std::string part_of_model(std::string_view parameter);

/// gradient_norms.csv: how large the gradient of each part of the model is.
class GradientNorms {
 public:
  /// As StepCsv. A column for the whole gradient and one for each part of the model, in the order
  /// of the parameters.
  GradientNorms(std::filesystem::path path, std::int64_t step,
                std::span<const Parameter* const> parameters);

  /// `squares`: of each parameter's gradient, before clipping, its squared Euclidean norm.
  void append(std::int64_t step, std::span<const double> squares);
  void flush() { csv_.flush(); }

 private:
  std::vector<std::string> parts_;
  std::vector<std::size_t> part_of_;  // each parameter
  std::vector<double> sums_;          // one a part
  StepCsv csv_;
};

}  // namespace heed
