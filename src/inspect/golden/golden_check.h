// Compares a model with the published numbers beside it: golden.safetensors in its folder, which
// names every activation of a pass over its inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "heed/error.h"
#include "heed/model.h"
#include "heed/tensor.h"
#include "io/tensor_files.h"

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

/// A value of the pass. Along `rows_axis`, entries past the row's text are not compared.
struct GoldenValue {
  Tensor value;
  int rows_axis = 1;
  bool of_source = false;  // use the source's lengths, not the text's
};

/// A tensor of ids, each from 0 to `end` - 1.
struct GoldenIds {
  const char* name;
  std::int64_t end;
  bool may_be_ignored = false;  // may contain -100, which means no label
};
/// Converts a tensor's i64 ids to i32, as models require. kCorrupt for other tensors.
Tensor golden_ids(const Safetensors& golden, const GoldenIds& wanted);
/// Throws kCorrupt, with the file's path and the tensor's name.
[[noreturn]] void refuse_golden(const Safetensors& golden, const std::string& name, Phrase found,
                                Phrase expected);

/// Keeps the activations that a golden file contains, under their names there.
class GoldenTap : public Tap {
 public:
  explicit GoldenTap(const Safetensors& golden) : golden_(golden) {}

  void at(const TapName& name, View value) override;
  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override;

  std::map<std::string, GoldenValue> values;

 private:
  void keep(const std::string& name, const ConstView& value, int rows_axis, bool of_source);

  const Safetensors& golden_;
};

/// The inputs of one file and the results.
struct GoldenPass {
  Tensor ids;
  Tensor types;                              // not given if the file has none
  Tensor source;                             // for an encoder-decoder
  std::vector<std::int64_t> lengths;         // tokens in each row
  std::vector<std::int64_t> source_lengths;  // for an encoder-decoder
  std::map<std::string, GoldenValue> values;
};
GoldenPass golden_pass(const Safetensors& golden, const Model& model);

}  // namespace heed
