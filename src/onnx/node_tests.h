// ONNX's published node tests, replayed to check that heed follows the operator specification.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace heed::onnx {

enum class Outcome : std::uint8_t { kPassed, kFailed, kSkipped };

struct NodeTestResult {
  std::string name;        // the folder's name
  std::string op = {};     // of the node, or of the first of several
  std::int64_t opset = 0;  // of the model
  Outcome outcome = Outcome::kPassed;
  std::string reason = {};  // why it was skipped, or the difference
  /// The largest error of each output relative to the tolerance; infinite if not comparable.
  std::vector<std::pair<std::string, double>> worst = {};

  double largest_error() const;
};

/// The folders of node tests: DIR itself if it contains a model.onnx, else its folders, by name.
/// kNotFound if there is none.
std::vector<std::filesystem::path> node_test_folders(const std::filesystem::path& dir);

/// An element passes where |found - expected| <= 1e-7 + rtol |expected|, with rtol 1e-3, or 2^-6
/// for bf16 (two units in its last place), like ONNX's runner. NaN and infinities must be the same,
/// shape and element type too, and integers equal.
///
/// Runs the one node of FOLDER/model.onnx on every FOLDER/test_data_set_N. Unsupported tests (an
/// operator, an opset, an attribute, an element type, graphs of several nodes) are skipped with a
/// reason, never passed. The error for a broken file names it.
NodeTestResult run_node_test(const std::filesystem::path& folder);

}  // namespace heed::onnx
