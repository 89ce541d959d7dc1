// ONNX's published node tests, replayed: does heed mean what the operator specification says?
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace heed::onnx {

enum class Outcome : std::uint8_t { kPassed, kFailed, kSkipped };

struct NodeTestResult {
  std::string name;        // of the folder
  std::string op = {};     // of the node; of the first where there are several
  std::int64_t opset = 0;  // of the model
  Outcome outcome = Outcome::kPassed;
  std::string reason = {};  // why it was skipped, or what differs
  /// The largest error of each output in units of the tolerance; infinite if not comparable.
  std::vector<std::pair<std::string, double>> worst = {};

  double largest_error() const;
};

/// The folders of node tests: DIR itself where it holds a model.onnx, else every folder in it, by
/// name. kNotFound where there is none.
std::vector<std::filesystem::path> node_test_folders(const std::filesystem::path& dir);

/// An element passes where |found - expected| <= 1e-7 + rtol |expected|, with rtol 1e-3, or
/// 2^-6 for bf16 (two units in its last place), as ONNX's own runner has it. NaN and infinities
/// must be the same, shape and element type too, and integers equal.
///
/// Runs the one node of FOLDER/model.onnx on every FOLDER/test_data_set_N. What heed does not
/// serve (an operator, an opset, an attribute, an element type, graphs of several nodes) is
/// skipped with its reason, never passed. A broken file is an error that names it.
NodeTestResult run_node_test(const std::filesystem::path& folder);

}  // namespace heed::onnx
