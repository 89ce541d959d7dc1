// Weights of experts, and of norms per head: a file may hold them all in one tensor.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"
#include "io/tensor_files.h"
#include "models/stored_weights.h"
#include "nn/parameter.h"
#include "tensor/block_type.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kExperts = ".experts.", kNorms = ".norms.";

Tensor numbers_of(const BlockRows& blocks) {
  const std::int64_t rows = blocks.rows.dim(0), bytes = blocks.rows.dim(1);
  Tensor numbers = Tensor::empty({rows, bytes / blocks.type->bytes * blocks.type->elements});
  read_blocks(*blocks.type,
              std::as_bytes(std::span(blocks.rows.data<std::uint8_t>(),
                                      static_cast<std::size_t>(blocks.rows.element_count()))),
              {numbers.data<float>(), static_cast<std::size_t>(numbers.element_count())});
  return numbers;
}

}  // namespace

std::string StackedName::scales() const {
  return name.substr(0, name.size() - kBlocksEnding.size()) + "_scales";
}

std::optional<StackedName> stacked_name(const std::string& name) {
  for (const std::string_view before : {kExperts, kNorms}) {
    const std::size_t at = name.find(before);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + before.size(), end = name.find('.', begin);
    StackedName stacked;
    const auto [read, error] =
        std::from_chars(name.data() + begin, name.data() + end, stacked.index);
    if (error != std::errc() || read != name.data() + end) continue;
    stacked.name = name.substr(0, before == kNorms ? at + 1 : begin) + name.substr(end + 1);
    return stacked;
  }
  return {};
}

std::string name_of_all(const std::string& name) {
  const std::optional<StackedName> part = stacked_name(name);
  if (!part) return name;
  const std::string number = fmt::format(".{}.", part->index);
  return std::string(name).replace(name.rfind(number), number.size(), ".%.");
}

std::string without_ending(const StackedName& stacked) {
  if (stacked.name.find(kExperts) == std::string::npos) return stacked.name;
  const std::string base = stacked.name.substr(0, stacked.name.rfind('.'));
  return stacked.name.ends_with(".bias") ? base + "_bias" : base;
}

Tensor stacked(std::span<const Tensor> parts, DType dtype) {
  std::vector<std::int64_t> shape = {std::ssize(parts)};
  const Shape own = parts.front().shape();
  for (int axis = 0; axis < own.rank(); ++axis) shape.push_back(own[axis]);
  Tensor whole = Tensor::empty(Shape(shape), dtype);
  std::int64_t index = 0;
  for (const Tensor& part : parts)
    copy_elements(Tensor::converted(part, dtype), whole.view().select(0, index++));
  return whole;
}

std::optional<StackedName> StoredWeights::stacked(const std::string& name) const {
  if (holds(name)) return {};
  const std::optional<StackedName> part = stacked_name(name);
  if (!part) return {};
  const std::string plain = without_ending(*part);
  for (const std::string& whole : {part->name, plain, plain + std::string(kBlocksEnding)})
    if (auto spelled = find(whole)) return StackedName{*std::move(spelled), part->index};
  return {};
}

// One expert's weight [in, out] of gpt-oss in MXFP4: codes [experts, out, in / 32, 16], two numbers
// a byte, the lower half first, and a scale for 32 numbers [experts, out, in / 32]. A block of GGUF
// has the same in 17 bytes, with numbers 0 to 15 in the lower halves.
BlockRows StoredWeights::read_blocks(const StackedName& part, const Shape& shape) const {
  const std::string scale_name = part.scales();
  const ConstView codes = weights_.tensor(part.name), scales = weights_.tensor(scale_name);
  const Shape due = {codes.dim(0), shape[1], shape[0] / 32, 16};
  const auto refuse = [&](const std::string& name, const ConstView& found, const Shape& expected) {
    fail_in(weights_.file(name).string(), name, to_string(found), to_string(DType::kU8, expected));
  };
  if (codes.dtype() != DType::kU8 || codes.shape() != due || shape[0] % 32 != 0)
    refuse(part.name, codes, due);
  if (scales.dtype() != DType::kU8 || scales.shape() != Shape{due[0], due[1], due[2]})
    refuse(scale_name, scales, {due[0], due[1], due[2]});
  const BlockType& type = *block_type_named("MXFP4");
  const auto* code = codes.select(0, part.index).data<std::uint8_t>();
  const auto* scale = scales.select(0, part.index).data<std::uint8_t>();
  Tensor rows = Tensor::empty({due[1], due[2] * type.bytes}, DType::kU8);
  auto* block = rows.data<std::uint8_t>();
  for (std::int64_t at = 0; at < due[1] * due[2]; ++at, code += 16) {
    *block++ = *scale++;
    for (int i = 0; i < 16; ++i) {
      const auto number = [&](int index) { return code[index / 2] >> index % 2 * 4 & 15; };
      *block++ = static_cast<std::uint8_t>(number(i) | number(16 + i) << 4);
    }
  }
  return {&type, std::move(rows)};
}

Shape StoredWeights::require_part(const StackedName& part, const Shape& own) const {
  std::vector<std::int64_t> whole = {weights_.kind(part.name).shape[0]};
  for (int axis = 0; axis < own.rank(); ++axis) whole.push_back(own[axis]);
  if (part.index >= whole[0])
    fail_in(weights_.file(part.name).string(), part.name, fmt::format("{} parts", whole[0]),
            fmt::format("at least {}", part.index + 1));
  if (!part.has_blocks()) weights_.require(part.name, Shape(whole));
  return Shape(whole);
}

void StoredWeights::load_part(Parameter& parameter, const StackedName& part,
                              const Reading& reading) const {
  const Shape own = parameter.value.shape(), whole = require_part(part, own);
  if (reading.headers_only) return;
  if (reading.streamed && parameter.linear) return stream_part(parameter, part, whole, reading);
  const DType packed = reading.packed.value_or(DType::kF32);
  if (part.has_blocks()) {
    const BlockRows blocks = read_blocks(part, own);
    if (reading.packed)
      pack(parameter, *blocks.type, blocks.rows);
    else
      parameter.value = Tensor::copy_of(numbers_of(blocks).view().permute({1, 0}));
  } else {
    const ConstView view = weights_.tensor(part.name, whole).select(0, part.index);
    if (reading.packed && is_packed(parameter, packed))
      pack(parameter, view, packed);
    else
      parameter.value = Tensor::converted(view, DType::kF32);
  }
  if (part.index + 1 == whole[0]) weights_.release(part.name);
}

}  // namespace heed
