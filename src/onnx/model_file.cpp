// ModelProto, with the field numbers of onnx.proto.
#include <fmt/format.h>

#include <utility>

#include "base/file.h"
#include "base/formats/protobuf.h"
#include "onnx/files.h"

namespace heed::onnx {
namespace {

using Bytes = std::span<const std::byte>;

std::pair<std::string, Attribute> read_attribute(Bytes message, const ProtobufSource& source) {
  std::string name;
  Attribute attribute;
  ProtobufReader reader(message, source);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) name = field.as_text(source);
    if (field.number == 2) attribute.number = field.as_float(source);
    if (field.number == 3) attribute.integer = field.as_int(source);
    if (field.number == 4) attribute.text = field.as_text(source);
  }
  return {name, attribute};
}

Node read_node(Bytes message, const ProtobufSource& source) {
  Node node;
  ProtobufReader reader(message, source);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) node.inputs.push_back(field.as_text(source));
    if (field.number == 2) node.outputs.push_back(field.as_text(source));
    if (field.number == 4) node.op_type = field.as_text(source);
    if (field.number == 5) node.attributes.insert(read_attribute(field.as_bytes(source), source));
    if (field.number == 7) node.domain = field.as_text(source);
  }
  if (node.domain == "ai.onnx") node.domain.clear();  // a synonym
  return node;
}

std::string read_value_name(Bytes message, const ProtobufSource& source) {
  std::string name;
  ProtobufReader reader(message, source);
  for (ProtobufField field; reader.next(field);)
    if (field.number == 1) name = field.as_text(source);
  return name;
}

void read_graph(Bytes message, const ProtobufSource& source, Model& model) {
  ProtobufReader reader(message, source);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) model.nodes.push_back(read_node(field.as_bytes(source), source));
    if (field.number == 11) model.inputs.push_back(read_value_name(field.as_bytes(source), source));
    if (field.number == 12)
      model.outputs.push_back(read_value_name(field.as_bytes(source), source));
  }
}

void read_opset(Bytes message, const ProtobufSource& source, Model& model) {
  std::string domain;
  std::int64_t version = 0;
  ProtobufReader reader(message, source);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) domain = field.as_text(source);
    if (field.number == 2) version = field.as_int(source);
  }
  model.opsets[domain == "ai.onnx" ? "" : domain] = version;
}

}  // namespace

Model read_model(const std::filesystem::path& path) {
  const MappedFile file(path);
  const ProtobufSource source = {.bytes = file.bytes(), .path = path.string()};
  Model model;
  bool has_graph = false;
  ProtobufReader reader(source.bytes, source);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 8) read_opset(field.as_bytes(source), source, model);
    if (field.number != 7) continue;
    read_graph(field.as_bytes(source), source, model);
    has_graph = true;
  }
  if (!has_graph)
    fail({.code = ErrorCode::kCorrupt,
          .file = source.path,
          .found = "no graph in this file",
          .expected = "an ONNX model"});
  return model;
}

}  // namespace heed::onnx
