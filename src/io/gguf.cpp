#include "io/gguf.h"

#include <fmt/format.h>

#include <fstream>
#include <string>
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

}  // namespace heed
