#include <cstdint>
#include <vector>

#include "io/atomic_file.h"
#include "io/gguf.h"
#include "io/gguf_header.h"

namespace heed {
namespace {

using enum GgufValue;

void put(std::string& to, auto value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, std::string_view text) {
  put<std::uint64_t>(to, text.size());
  to += text;
}

// The type of a value, in a list or alone.
GgufValue type_of(const Json& value, bool in_list) {
  if (value.is_array()) return kList;
  if (value.is_text()) return kText;
  if (value.as_flag()) return kFlag;
  return !value.as_integer() ? kF32 : in_list ? kI32 : kU32;
}

void put_value(std::string& to, const Json& value, GgufValue type) {
  switch (type) {
    case kText:
      return put_text(to, *value.as_text());
    case kFlag:
      return put<std::uint8_t>(to, value.as_flag().value_or(false) ? 1 : 0);
    case kU32:
      return put(to, static_cast<std::uint32_t>(value.as_integer().value_or(0)));
    case kI32:
      return put(to, static_cast<std::int32_t>(value.as_integer().value_or(0)));
    case kF32:
      return put(to, static_cast<float>(value.as_number().value_or(0)));
    default:
      break;
  }
  const GgufValue items = value.items().empty() ? kI32 : type_of(value.items().front(), true);
  put(to, items);
  put<std::uint64_t>(to, value.items().size());
  for (const Json& item : value.items()) put_value(to, item, items);
}

std::size_t padded(std::size_t bytes) {
  return (bytes + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment;
}

std::size_t block_bytes(const GgufOut& tensor) {
  return static_cast<std::size_t>(tensor.view.element_count() / tensor.type->elements *
                                  tensor.type->bytes);
}

std::string header_of(const Json& metadata, std::span<const GgufOut> tensors) {
  std::string header = "GGUF";
  put<std::uint32_t>(header, 3);
  put<std::uint64_t>(header, tensors.size());
  put<std::uint64_t>(header, metadata.members().size());
  for (const auto& [key, value] : metadata.members()) {
    put_text(header, key);
    put(header, type_of(value, false));
    put_value(header, value, type_of(value, false));
  }
  std::uint64_t offset = 0;
  for (const GgufOut& tensor : tensors) {
    put_text(header, tensor.name);
    put(header, static_cast<std::uint32_t>(tensor.view.rank()));
    for (int axis = tensor.view.rank(); axis-- > 0;)
      put<std::uint64_t>(header, static_cast<std::uint64_t>(tensor.view.dim(axis)));
    put(header, tensor.type->id);
    put(header, offset);
    offset += padded(block_bytes(tensor));
  }
  header.resize(padded(header.size()), '\0');
  return header;
}

void write_blocks(AtomicFile& file, const GgufOut& tensor) {
  const Tensor dense = Tensor::copy_of(tensor.view);
  std::vector<std::byte> blocks(block_bytes(tensor));
  const float* numbers = dense.data<float>();
  for (std::size_t at = 0; at < blocks.size();
       at += static_cast<std::size_t>(tensor.type->bytes), numbers += tensor.type->elements)
    tensor.type->blocks->write(numbers, reinterpret_cast<std::uint8_t*>(blocks.data() + at));
  file.write(blocks.data(), blocks.size());
}

}  // namespace

void write_gguf(const std::filesystem::path& path, const Json& metadata,
                std::span<const GgufOut> tensors) {
  AtomicFile file(path);
  file.write(header_of(metadata, tensors));
  for (const GgufOut& tensor : tensors) {
    if (tensor.type->plain)
      write_elements(file, tensor.view, *tensor.type->plain);
    else
      write_blocks(file, tensor);
    const std::size_t bytes = block_bytes(tensor);
    file.write(std::string(padded(bytes) - bytes, '\0'));
  }
  file.commit();
}

}  // namespace heed
