// ONNX's files: a model's nodes and single tensors (the messages of onnx.proto that tests need).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed::onnx {

/// One of the three that operators here have; which one it is, the operator knows.
struct Attribute {
  std::int64_t integer = 0;
  float number = 0;
  std::string text = {};
};

struct Node {
  std::string op_type;
  std::string domain;                // empty: ONNX's own
  std::vector<std::string> inputs;   // an empty name: absent
  std::vector<std::string> outputs;  // the same
  std::map<std::string, Attribute> attributes;
};

struct Model {
  std::map<std::string, std::int64_t> opsets;  // version by domain
  std::vector<Node> nodes;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// kCorrupt with path and byte where the file is not what it says.
Model read_model(const std::filesystem::path& path);

/// A TensorProto. kUnsupported for element types that heed does not have and for data that lie in
/// another file.
Tensor read_tensor(const std::filesystem::path& path);

}  // namespace heed::onnx
