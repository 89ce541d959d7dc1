#include "io/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "base/wording.h"
#include "io/gguf_header.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostParts = 1000;

// "model-00002-of-00003.gguf" from "model-00001-of-00003.gguf".
fs::path part_path(const fs::path& first, std::int64_t number, std::int64_t count) {
  const std::string ending = fmt::format("-{:05}-of-{:05}.gguf", 1, count);
  const std::string name = first.filename().string();
  if (!name.ends_with(ending))
    fail({.code = ErrorCode::kCorrupt,
          .file = first.string(),
          .argument = "the file's name",
          .found = name,
          .expected =
              fmt::format("one that ends in {}: it is the first of {} files", ending, count)});
  return first.parent_path() / (name.substr(0, name.size() - ending.size()) +
                                fmt::format("-{:05}-of-{:05}.gguf", number, count));
}

}  // namespace

const Json& Gguf::operator[](std::string_view key) const {
  static const Json kNone;
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? kNone : found->second;
}

const GgufTensor* Gguf::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::span<const std::byte> Gguf::bytes(const GgufTensor& tensor) const {
  return parts_[tensor.part].map->bytes().subspan(tensor.begin, tensor.end - tensor.begin);
}

void Gguf::refuse(std::string_view key, Phrase found, Phrase expected, ErrorCode code) const {
  fail_in(path().string(), key, std::move(found), std::move(expected), code);
}

void Gguf::add_part(const fs::path& path) {
  auto map = std::make_shared<const MappedFile>(path);
  GgufHeader header = parse_gguf_header(map->bytes(), path);
  const std::size_t part = parts_.size();
  parts_.push_back({.path = path, .map = std::move(map)});
  if (part == 0) metadata_ = std::move(header.metadata);
  for (auto& [name, tensor] : header.tensors) {
    tensor.part = part;
    if (!tensors_.emplace(name, tensor).second)
      fail_in(path.string(), name, "a tensor that an earlier part holds too", "each tensor once");
  }
}

Gguf Gguf::open(const fs::path& path) {
  Gguf file;
  file.add_part(path);
  const std::int64_t count = file["split.count"].as_whole_number().value_or(1);
  if (const std::int64_t number = file["split.no"].as_whole_number().value_or(0); number != 0)
    file.refuse("split.no", number, "0: name the first file, which says what the others hold");
  if (count < 0 || count > kMostParts)
    file.refuse("split.count", count, fmt::format("at most {}", kMostParts));
  for (std::int64_t part = 2; part <= count; ++part) file.add_part(part_path(path, part, count));
  if (const auto wanted = file["split.tensors.count"].as_whole_number();
      wanted && *wanted != std::ssize(file.tensors_))
    file.refuse("split.tensors.count", *wanted,
                fmt::format("{}, as the files hold", file.tensors_.size()));
  return file;
}

bool is_gguf(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::string start(4, '\0');
  return std::ifstream(path, std::ios::binary).read(start.data(), 4) && start == "GGUF";
}

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
