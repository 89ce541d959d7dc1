#include <algorithm>
#include <array>
#include <vector>

#include "base/wording.h"
#include "io/gguf.h"

namespace heed {
namespace {

GgufType blocks(std::uint32_t id, std::string_view name) {
  const BlockType* const type = block_type_named(name);
  return {id, name, type->elements, type->bytes, {}, type};
}

const std::array kTypes = {
    GgufType{0, "F32", 1, 4, DType::kF32},
    GgufType{1, "F16", 1, 2, DType::kF16},
    blocks(2, "Q4_0"),
    blocks(3, "Q4_1"),
    blocks(6, "Q5_0"),
    blocks(7, "Q5_1"),
    blocks(8, "Q8_0"),
    blocks(10, "Q2_K"),
    blocks(11, "Q3_K"),
    blocks(12, "Q4_K"),
    blocks(13, "Q5_K"),
    blocks(14, "Q6_K"),
    blocks(20, "IQ4_NL"),
    blocks(23, "IQ4_XS"),
    GgufType{28, "F64", 1, 8, DType::kF64},
    GgufType{30, "BF16", 1, 2, DType::kBF16},
    blocks(39, "MXFP4"),
};

struct KnownName {
  std::uint32_t id;
  std::string_view name;
};
constexpr KnownName kUnread[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {29, "IQ1_M"}, {34, "TQ1_0"}, {35, "TQ2_0"},   {40, "NVFP4"},  {41, "Q1_0"}};

}  // namespace

const GgufType* gguf_type(std::uint32_t id) {
  const auto* found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == std::end(kTypes) ? nullptr : found;
}

const GgufType* gguf_type_named(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &GgufType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string gguf_type_name(std::uint32_t id) {
  if (const GgufType* type = gguf_type(id)) return std::string(type->name);
  const auto* found = std::ranges::find(kUnread, id, &KnownName::id);
  return found == std::end(kUnread) ? fmt::format("type {}", id) : std::string(found->name);
}

std::string gguf_type_names() {
  std::vector<std::string_view> names;
  for (const GgufType& type : kTypes) names.push_back(type.name);
  return joined(names, ", ");
}

}  // namespace heed
