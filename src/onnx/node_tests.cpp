#include "onnx/node_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/wording.h"
#include "heed/error.h"
#include "onnx/operators.h"
#include "tensor/views.h"

namespace heed::onnx {
namespace {

namespace fs = std::filesystem;

constexpr double kAbsolute = 1e-7;

double relative_tolerance(DType dtype) { return dtype == DType::kBF16 ? 0x1p-6 : 1e-3; }

// Why heed does not support this model; empty if it does.
std::string refusal(const Model& model, const Operator*& op) {
  if (model.nodes.size() != 1) return fmt::format("{} nodes, one is served", model.nodes.size());
  const Node& node = model.nodes[0];
  if (!node.domain.empty())
    return fmt::format("operator {} of the domain {}", node.op_type, node.domain);
  const auto table = operators();
  const auto found = std::ranges::find(table, node.op_type, &Operator::name);
  if (found == table.end()) return fmt::format("operator {}", node.op_type);
  const auto opset = model.opsets.find("");
  if (opset == model.opsets.end()) return "no opset of ONNX's own domain";
  if (opset->second < found->since || opset->second > kNewestOpset)
    return fmt::format("{} of opset {}, {} to {} are served", node.op_type, opset->second,
                       found->since, kNewestOpset);
  for (const auto& [name, value] : node.attributes)
    if (std::ranges::find(found->attributes, name) == found->attributes.end())
      return fmt::format("attribute {} of {}", name, node.op_type);
  for (const std::string& input : node.inputs)
    if (!input.empty() && std::ranges::find(model.inputs, input) == model.inputs.end())
      return fmt::format("{} is not an input of the graph", input);
  for (const std::string& output : model.outputs)
    if (std::ranges::find(node.outputs, output) == node.outputs.end())
      return fmt::format("{} is not an output of the node", output);
  op = &*found;
  return "";
}

fs::path tensor_path(const fs::path& data_set, std::string_view kind, std::size_t index) {
  return data_set / fmt::format("{}_{}.pb", kind, index);
}

NodeCall read_call(const Model& model, const fs::path& data_set) {
  const Node& node = model.nodes[0];
  NodeCall call = {.node = node, .inputs = std::vector<Tensor>(node.inputs.size())};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto named = std::ranges::find(model.inputs, node.inputs[i]);
    if (node.inputs[i].empty()) continue;
    const auto index = static_cast<std::size_t>(named - model.inputs.begin());
    call.inputs[i] = read_tensor(tensor_path(data_set, "input", index));
  }
  return call;
}

std::string place_of(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return fmt::format("[{}]", joined(index, ", "));
}

// The error relative to the tolerance; infinite if only one is NaN or infinite.
double error_of(double found, double expected, double relative) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double error = std::abs(found - expected) / (kAbsolute + relative * std::abs(expected));
  return std::isfinite(found) && std::isfinite(expected) ? error : INFINITY;
}

void compare_floats(const std::string& name, const Tensor& found, const Tensor& expected,
                    NodeTestResult& result, double& largest) {
  const Tensor left = Tensor::converted(found, DType::kF64);
  const Tensor right = Tensor::converted(expected, DType::kF64);
  const double relative = relative_tolerance(expected.dtype());
  std::int64_t worst = -1;
  for (std::int64_t i = 0; i < left.element_count(); ++i) {
    const double error = error_of(left.data<double>()[i], right.data<double>()[i], relative);
    if (error <= largest) continue;
    largest = error;
    worst = i;
  }
  if (worst < 0 || largest <= 1) return;
  result.outcome = Outcome::kFailed;
  result.reason =
      fmt::format("{}{} is {:.6g}, expected {:.6g}", name, place_of(worst, expected.shape()),
                  left.data<double>()[worst], right.data<double>()[worst]);
}

// The largest error of one output, over all data sets.
double& worst_of(const std::string& name, NodeTestResult& result) {
  for (auto& [output, error] : result.worst)
    if (output == name) return error;
  return result.worst.emplace_back(name, 0).second;
}

void compare(const std::string& name, const Tensor& found, const Tensor& expected,
             NodeTestResult& result) {
  double& largest = worst_of(name, result);
  const auto differs = [&](std::string reason) {
    result.outcome = Outcome::kFailed;
    largest = INFINITY;
    result.reason = std::move(reason);
  };
  if (!found.given()) return differs(fmt::format("{} was not computed", name));
  if (found.dtype() != expected.dtype() || !(found.shape() == expected.shape()))
    return differs(fmt::format("{} is {} {}, expected {} {}", name, heed::name(found.dtype()),
                               to_string(found.shape()), heed::name(expected.dtype()),
                               to_string(expected.shape())));
  if (is_floating(expected.dtype())) return compare_floats(name, found, expected, result, largest);
  const std::size_t bytes = byte_count(expected);
  if (bytes != 0 && std::memcmp(found.view().raw(), expected.view().raw(), bytes) != 0)
    differs(fmt::format("{} differs", name));
}

void run_data_set(const Model& model, const Operator& op, const fs::path& data_set,
                  NodeTestResult& result) {
  const NodeCall call = read_call(model, data_set);
  std::vector<Tensor> expected;
  for (std::size_t k = 0; k < model.outputs.size(); ++k)
    expected.push_back(read_tensor(tensor_path(data_set, "output", k)));
  std::vector<Tensor> found;
  try {
    found = reworded([&] { return op.run(call); }, [&](ErrorParts& parts) { parts.op = op.name; });
  } catch (const Error& error) {  // heed refuses a legal test, so it failed
    if (error.code() == ErrorCode::kUnsupported) throw;
    result.outcome = Outcome::kFailed;
    result.reason = error.what();
    return;
  }
  for (std::size_t k = 0; k < expected.size() && result.outcome == Outcome::kPassed; ++k) {
    const auto& outputs = model.nodes[0].outputs;
    const auto place =
        static_cast<std::size_t>(std::ranges::find(outputs, model.outputs[k]) - outputs.begin());
    static const Tensor kNone;
    compare(model.outputs[k], place < found.size() ? found[place] : kNone, expected[k], result);
  }
}

void run_data_sets(const Model& model, const Operator& op, const fs::path& folder,
                   NodeTestResult& result) {
  if (!fs::exists(folder / "test_data_set_0"))
    fail({.code = ErrorCode::kNotFound,
          .file = folder.string(),
          .argument = "test_data_set_0",
          .found = "missing"});
  for (int n = 0; result.outcome == Outcome::kPassed; ++n) {
    const fs::path data_set = folder / fmt::format("test_data_set_{}", n);
    if (!fs::exists(data_set)) break;
    run_data_set(model, op, data_set, result);
  }
}

}  // namespace

double NodeTestResult::largest_error() const {
  double largest = 0;
  for (const auto& [output, error] : worst) largest = std::max(largest, error);
  return largest;
}

std::vector<fs::path> node_test_folders(const fs::path& dir) {
  if (!fs::is_directory(dir))
    fail({.code = ErrorCode::kNotFound,
          .file = dir.string(),
          .found = fs::exists(dir) ? "is a file" : "no such folder",
          .expected = "a node test's folder, with model.onnx in it, or a folder of such"});
  if (fs::exists(dir / "model.onnx")) return {dir};
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_directory()) folders.push_back(entry.path());
  if (folders.empty())
    fail({.code = ErrorCode::kNotFound,
          .file = dir.string(),
          .found = "empty",
          .expected = "a model.onnx or folders in it"});
  std::ranges::sort(folders);
  return folders;
}

NodeTestResult run_node_test(const fs::path& folder) {
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  NodeTestResult result = {.name = named.filename().string()};
  const auto skip = [&](std::string reason) {
    result.outcome = Outcome::kSkipped;
    result.reason = std::move(reason);
    return result;
  };
  if (!fs::exists(folder / "model.onnx")) return skip("no model.onnx");
  const Model model = read_model(folder / "model.onnx");
  if (!model.nodes.empty()) result.op = model.nodes[0].op_type;
  if (model.opsets.contains("")) result.opset = model.opsets.at("");
  const Operator* op = nullptr;
  if (std::string reason = refusal(model, op); !reason.empty()) return skip(std::move(reason));
  try {
    run_data_sets(model, *op, folder, result);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return skip(error.what());
  }
  return result;
}

}  // namespace heed::onnx
