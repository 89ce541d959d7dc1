// The CSV files of a run, one row per step. A row is a single write, so a killed run leaves
// complete rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"

namespace heed {

class StepCsv {
 public:
  /// Opens or creates the file; `header` includes its line end. Removes rows after `step`, an
  /// incomplete last row, and everything if the header differs.
  StepCsv(std::filesystem::path path, std::string_view header, std::int64_t step);
  ~StepCsv();
  StepCsv(const StepCsv&) = delete;
  StepCsv& operator=(const StepCsv&) = delete;

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

}  // namespace heed
