// Replays the published numbers that lie beside a model: golden.safetensors in its folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heed/dtype.h"

namespace heed {

/// One tensor of the file.
struct GoldenTensor {
  enum class Kind { kInput, kCompared, kUnknown };

  std::string name;
  Kind kind = Kind::kCompared;
  double worst = 0;  // largest difference; of ids, how many differ
  double tolerance = 0;

  bool passed() const {
    return kind == Kind::kInput || (kind == Kind::kCompared && worst <= tolerance);
  }
};

struct GoldenReport {
  std::vector<GoldenTensor> tensors;  // by name

  bool passed() const;
};

/// The passes that the inputs of the file ask for: every other tensor of the file is compared with
/// what the model gives under its name, within the tolerances of golden.json (where it has none
/// 1e-4, or 2e-6 of the tensor's largest number; of attention 1e-5). With weights held in f16 or
/// bf16 the tolerances are what golden.json says of the reference in that type; what it does not
/// mention is measured alone. Rows past a text's length are not compared. A folder without the file
/// is kNotFound; inputs that no pass can read are kCorrupt.
GoldenReport check_golden(const std::filesystem::path& folder, DType dtype = DType::kF32);

}  // namespace heed
