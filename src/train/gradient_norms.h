// gradient_norms.csv: how large the gradient of each layer is, step by step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/nn/parameter.h"
#include "train/step_csv.h"

namespace heed {

/// Where a parameter's gradient counts: its layer (`transformer.h.3`), outside of layers its module
/// (`transformer.wte`).
std::string part_of_model(std::string_view parameter);

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
