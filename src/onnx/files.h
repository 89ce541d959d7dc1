// ONNX's files: a model's nodes and single tensors (only the messages of onnx.proto that the tests
// need).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed::onnx {

/// One of the three kinds that these operators have; the operator knows which one it is.
struct Attribute {
  std::int64_t integer = 0;
  float number = 0;
  std::string text = {};
};

struct Node {
  std::string op_type;
  std::string domain;                // empty: ONNX's own domain
  std::vector<std::string> inputs;   // empty name: absent
  std::vector<std::string> outputs;  // the same
  std::map<std::string, Attribute> attributes;
};

struct Model {
  std::map<std::string, std::int64_t> opsets;  // version by domain
  std::vector<Node> nodes;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// kCorrupt, with path and byte, if the file is malformed.
Model read_model(const std::filesystem::path& path);

/// A TensorProto. kUnsupported for element types that heed lacks and for data in another file.
Tensor read_tensor(const std::filesystem::path& path);

}  // namespace heed::onnx
