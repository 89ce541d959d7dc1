#include "io/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/base/error.h"

namespace heed {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;

class HeaderParser {
 public:
  HeaderParser(std::span<const std::byte> file, const std::filesystem::path& path)
      : file_(file), path_(path.string()) {}

  SafetensorsHeader parse() {
    const Json header = read_json();
    SafetensorsHeader result;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        result.metadata = metadata(entry);
      } else {
        result.tensors.emplace(name, tensor(name, entry));
      }
    }
    check_cover(result.tensors);
    return result;
  }

 private:
  Json read_json() {
    if (file_.size() < kLengthBytes)
      fail(ErrorCode::kCorrupt,
           "{}: the file has {} bytes, expected a safetensors header length of 8 bytes first",
           path_, file_.size());
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > file_.size() - kLengthBytes)
      fail(ErrorCode::kCorrupt,
           "{}: the header is {} bytes long by bytes 0 to 7, but the file ends at byte {}", path_,
           length, file_.size());
    data_begin_ = static_cast<std::int64_t>(kLengthBytes + length);
    const auto* text = reinterpret_cast<const char*>(file_.data()) + kLengthBytes;
    try {
      Json header = Json::parse(text, text + length);
      if (!header.is_object())
        fail(ErrorCode::kCorrupt, "{}: the header at byte 8 is not a JSON object", path_);
      return header;
    } catch (const Json::parse_error& error) {
      fail(ErrorCode::kCorrupt, "{}: the header is not JSON at byte {}", path_,
           kLengthBytes + std::max<std::size_t>(error.byte, 1) - 1);
    }
  }

  std::map<std::string, std::string> metadata(const Json& entry) const {
    std::map<std::string, std::string> result;
    if (!entry.is_object())
      fail(ErrorCode::kCorrupt, "{}: '__metadata__' is not an object of strings", path_);
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string())
        fail(ErrorCode::kCorrupt, "{}: '__metadata__' holds '{}', which is not a string", path_,
             key);
      result.emplace(key, value.get<std::string>());
    }
    return result;
  }

  // A member that is a list of whole numbers of at least 0.
  std::vector<std::int64_t> numbers(const std::string& name, const Json& entry,
                                    const char* member) const {
    std::vector<std::int64_t> result;
    const Json list = entry.is_object() ? entry.value(member, Json()) : Json();
    bool good = list.is_array();
    for (const Json& number : list) {
      good = good && number.is_number_unsigned() && number.get<std::uint64_t>() < kLargest;
      if (good) result.push_back(number.get<std::int64_t>());
    }
    if (!good)
      fail(ErrorCode::kCorrupt, "{}: tensor '{}' has no '{}' that is a list of whole numbers",
           path_, name, member);
    return result;
  }

  DType type(const std::string& name, const Json& entry) const {
    const Json found = entry.value("dtype", Json());
    if (!found.is_string())
      fail(ErrorCode::kCorrupt, "{}: tensor '{}' has no 'dtype'", path_, name);
    std::vector<std::string_view> served;
    for (const DTypeInfo& row : kDTypes) {
      if (row.safetensors_name == found.get_ref<const std::string&>()) return row.dtype;
      served.push_back(row.safetensors_name);
    }
    fail(ErrorCode::kUnsupported, "{}: tensor '{}' has type {}, expected one of {}", path_, name,
         found.get_ref<const std::string&>(), fmt::join(served, " "));
  }

  StoredTensor tensor(const std::string& name, const Json& entry) const {
    const std::vector<std::int64_t> extents = numbers(name, entry, "shape");
    const std::vector<std::int64_t> offsets = numbers(name, entry, "data_offsets");
    const DType dtype = type(name, entry);
    if (extents.size() > kMaxRank)
      fail(ErrorCode::kUnsupported, "{}: tensor '{}' has {} dimensions, at most {} are served",
           path_, name, extents.size(), kMaxRank);
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      fail(ErrorCode::kCorrupt, "{}: tensor '{}' has 'data_offsets' [{}], expected [begin, end]",
           path_, name, fmt::join(offsets, ", "));
    const std::int64_t begin = data_begin_ + offsets[0];
    const std::int64_t end = data_begin_ + offsets[1];
    if (end > static_cast<std::int64_t>(file_.size()))
      fail(ErrorCode::kCorrupt,
           "{}: tensor '{}' lies in bytes {} to {}, but the file ends at byte {}", path_, name,
           begin, end, file_.size());
    auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
    bool fits = true;
    for (const std::int64_t extent : extents)
      fits &= !__builtin_mul_overflow(bytes, extent, &bytes);
    if (!fits || bytes != end - begin)
      fail(ErrorCode::kCorrupt, "{}: tensor '{}' has {} bytes from byte {} on, but {} [{}] has {}",
           path_, name, end - begin, begin, info(dtype).safetensors_name, fmt::join(extents, ", "),
           fits ? fmt::to_string(bytes) : "more than any file");
    return {.dtype = dtype, .shape = Shape(extents), .begin = begin, .end = end};
  }

  // Every byte after the header belongs to exactly one tensor.
  void check_cover(const std::map<std::string, StoredTensor>& tensors) const {
    std::vector<std::pair<const StoredTensor*, std::string_view>> sorted;
    for (const auto& [name, tensor] : tensors) sorted.emplace_back(&tensor, name);
    std::ranges::sort(sorted, {}, [](const auto& entry) {
      return std::pair(entry.first->begin, entry.first->end);
    });
    std::int64_t reached = data_begin_;
    for (const auto& [tensor, name] : sorted) {
      if (tensor->begin != reached)
        fail(ErrorCode::kCorrupt,
             "{}: tensor '{}' begins at byte {}, expected {}: tensors must neither overlap nor "
             "leave a hole",
             path_, name, tensor->begin, reached);
      reached = tensor->end;
    }
    if (reached != static_cast<std::int64_t>(file_.size()))
      fail(ErrorCode::kCorrupt, "{}: the tensors end at byte {}, but the file goes on to byte {}",
           path_, reached, file_.size());
  }

  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;
  std::span<const std::byte> file_;
  std::string path_;
  std::int64_t data_begin_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           const std::filesystem::path& path) {
  return HeaderParser(file, path).parse();
}

}  // namespace heed
