// Compares a model with the published numbers beside it: golden.safetensors in its folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// One tensor of the file.
struct GoldenTensor {
  enum class Kind { kInput, kCompared, kUnknown };

  std::string name;
  Kind kind = Kind::kCompared;
  double worst = 0;  // largest difference; for ids, the number of differences
  double tolerance = 0;

  bool passed() const {
    return kind == Kind::kInput || (kind == Kind::kCompared && worst <= tolerance);
  }
};

struct GoldenReport {
  std::vector<GoldenTensor> tensors;  // by name

  bool passed() const;
};

/// Runs the passes for the inputs in the file, and compares every other tensor of the file with the
/// model's value of that name, within the tolerances of golden.json (default 1e-4, or 2e-6 of the
/// tensor's largest number; for attention 1e-5). For weights held in f16 or bf16, the tolerances
/// are golden.json's for the reference in that type; values it does not mention are only measured.
/// Rows past a text's length are not compared. kNotFound for a folder without the file; kCorrupt
/// for inputs that no pass can read.
GoldenReport check_golden(const std::filesystem::path& folder, DType dtype = DType::kF32);

}  // namespace heed
