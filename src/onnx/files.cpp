// ModelProto, with the field numbers of onnx.proto.
#include "onnx/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/formats/protobuf.h"
#include "base/wording.h"
#include "tensor/text.h"

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

namespace {

struct ElementType {
  std::int64_t number;  // TensorProto.DataType
  DType dtype;
};

constexpr ElementType kElementTypes[] = {
    {1, DType::kF32},  {2, DType::kU8},   {3, DType::kI8},   {6, DType::kI32},   {7, DType::kI64},
    {9, DType::kBool}, {10, DType::kF16}, {11, DType::kF64}, {16, DType::kBF16},
};

constexpr std::array<std::string_view, 24> kTypeNames = {
    "undefined",      "float",      "uint8",          "int8",       "uint16",   "int16",
    "int32",          "int64",      "string",         "bool",       "float16",  "double",
    "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1"};

struct TensorMessage {
  std::vector<std::int64_t> dims;
  std::int64_t data_type = 0;
  std::optional<std::span<const std::byte>> raw;
  std::vector<std::byte> listed;  // elements of the typed lists, converted to the tensor's type
  bool external = false;
};

DType dtype_of(std::int64_t number, const std::string& path) {
  const auto* const type = std::ranges::find(kElementTypes, number, &ElementType::number);
  if (type != std::end(kElementTypes)) return type->dtype;
  const bool named = number >= 0 && number < static_cast<std::int64_t>(kTypeNames.size());
  fail_in(path, "data_type",
          named ? Phrase(kTypeNames[static_cast<std::size_t>(number)]) : Phrase(number),
          "a type that heed has", ErrorCode::kUnsupported);
}

// float_data and double_data: fixed width, packed or single.
void append_fixed(const ProtobufField& field, std::vector<std::byte>& to) {
  if (field.wire == WireType::kBytes) {
    to.insert(to.end(), field.bytes.begin(), field.bytes.end());
    return;
  }
  const auto* value = reinterpret_cast<const std::byte*>(&field.value);
  to.insert(to.end(), value, value + (field.wire == WireType::kFixed32 ? 4 : 8));
}

// int32_data and int64_data: also hold bits of f16 and bf16, and small integers.
void append_integers(const ProtobufField& field, std::size_t width, const ProtobufSource& source,
                     std::vector<std::byte>& to) {
  for_each_varint(field, source, [&](std::int64_t value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), bytes, bytes + width);
  });
}

TensorMessage read_message(const ProtobufSource& source) {
  TensorMessage message;
  ProtobufReader types(source.bytes, source);  // lists may precede their type
  for (ProtobufField field; types.next(field);) {
    if (field.number == 1)
      for_each_varint(field, source, [&](std::int64_t dim) { message.dims.push_back(dim); });
    if (field.number == 2) message.data_type = field.as_int(source);
    if (field.number == 14) message.external = field.as_int(source) != 0;
  }
  const std::size_t width = size_bytes(dtype_of(message.data_type, source.path));
  ProtobufReader data(source.bytes, source);
  for (ProtobufField field; data.next(field);) {
    if (field.number == 4 || field.number == 10) append_fixed(field, message.listed);
    if (field.number == 5 || field.number == 7)
      append_integers(field, width, source, message.listed);
    if (field.number == 9) message.raw = field.as_bytes(source);
  }
  return message;
}

Shape shape_of(const TensorMessage& message, const std::string& path) {
  if (message.dims.size() > kMaxRank)
    fail_in(path, "dims", number_of(message.dims.size(), "dimension"),
            fmt::format("at most {}", kMaxRank), ErrorCode::kUnsupported);
  for (const std::int64_t dim : message.dims)
    if (dim < 0) fail_in(path, "dims", dim, "0 or more");
  return Shape(message.dims);
}

// The number of bytes for the shape, or -1 if it exceeds 63 bits.
std::int64_t wanted_bytes(const Shape& shape, DType dtype) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  for (const std::int64_t dim : shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  return bytes;
}

}  // namespace

Tensor read_tensor(const std::filesystem::path& path) {
  const MappedFile file(path);
  const ProtobufSource source = {.bytes = file.bytes(), .path = path.string()};
  const TensorMessage message = read_message(source);
  if (message.external)
    fail({.code = ErrorCode::kUnsupported,
          .file = source.path,
          .found = "the data lie in another file",
          .expected = "them in this one"});
  const DType dtype = dtype_of(message.data_type, source.path);
  const Shape shape = shape_of(message, source.path);
  const std::span<const std::byte> data = message.raw.value_or(message.listed);
  if (wanted_bytes(shape, dtype) != static_cast<std::int64_t>(data.size()))
    fail_in(source.path, "raw_data", number_of(data.size(), "byte"),
            fmt::format("those of {}", to_string(dtype, shape)));
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!data.empty()) std::memcpy(tensor.view().raw(), data.data(), data.size());
  return tensor;
}

}  // namespace heed::onnx
