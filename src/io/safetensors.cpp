// Reads and writes safetensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "io/atomic_file.h"
#include "io/safetensors_header.h"
#include "io/tensor_files.h"
#include "tensor/views.h"

namespace heed {

struct Safetensors::Impl {
  explicit Impl(const std::filesystem::path& file) : path(file), map(file) {
    header = parse_safetensors_header(map.bytes(), path);
  }

  std::filesystem::path path;
  MappedFile map;
  SafetensorsHeader header;
};

Safetensors::Safetensors(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  return Safetensors(std::make_shared<const Impl>(path));
}

const std::filesystem::path& Safetensors::path() const { return impl_->path; }

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : impl_->header.tensors) names.push_back(name);
  return names;
}

bool Safetensors::contains(const std::string& name) const {
  return impl_->header.tensors.contains(name);
}

const std::map<std::string, std::string>& Safetensors::metadata() const {
  return impl_->header.metadata;
}

namespace {

[[noreturn]] void fail_without(const std::filesystem::path& path, const std::string& name,
                               std::vector<std::string> names) {
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kLongest = 100;  // a corrupt file may contain any name
  const std::size_t count = names.size();
  names.resize(std::min(count, kShown));
  for (std::string& shown : names) shown = clipped(shown, kLongest);
  fail({.code = ErrorCode::kNotFound,
        .file = path.string(),
        .found = fmt::format("has no tensor '{}'", name),
        .hint = fmt::format("it holds {}: {}{}", count, joined(names, ", "),
                            count > kShown ? ", ..." : "")});
}

}  // namespace

ConstView Safetensors::tensor(const std::string& name) const {
  const auto found = impl_->header.tensors.find(name);
  if (found == impl_->header.tensors.end()) fail_without(impl_->path, name, names());
  const StoredTensor& stored = found->second;
  return {impl_->map.bytes().data() + stored.begin, stored.dtype, stored.shape};
}

void Safetensors::release(const std::string& name) const {
  const StoredTensor& stored = impl_->header.tensors.at(name);
  impl_->map.release(static_cast<std::size_t>(stored.begin), static_cast<std::size_t>(stored.end));
}

TensorKind Safetensors::kind(const std::string& name) const {
  const ConstView stored = tensor(name);
  return {.dtype = stored.dtype(), .shape = stored.shape()};
}

Tensor Safetensors::mapped(const std::string& name) const {
  const ConstView stored = tensor(name);
  if (stored.dtype() == DType::kF64 || !stored.is_aligned()) return load_f32(name);
  return Tensor::over(impl_, stored);
}

namespace {

// The header: names, types, shapes and places of the tensors, which follow it in this order.
std::string header_text(const std::filesystem::path& path,
                        const std::vector<const NamedView*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json notes = {{"format", "pt"}};
  for (const auto& [key, value] : metadata) notes.set(key, value);
  Json header = {{"__metadata__", notes}};
  std::set<std::string_view> names = {"__metadata__"};
  std::size_t end = 0;
  for (const NamedView* tensor : tensors) {
    const auto& [name, view] = *tensor;
    if (!names.insert(name).second)
      fail_in(path.string(), "tensors", fmt::format("two called '{}'", name), "names that differ",
              ErrorCode::kInvalidArgument);
    const std::size_t begin = end;
    end += byte_count(view);
    header.add(name, {{"dtype", info(view.dtype()).safetensors_name},
                      {"shape", std::vector(view.shape().begin(), view.shape().end())},
                      {"data_offsets", Json::array({begin, end})}});
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedView*> order;
  for (const NamedView& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(), [](const NamedView* tensor) {
    return size_bytes(tensor->view.dtype());
  });
  const std::string text = header_text(path, order, metadata);
  const std::uint64_t length = text.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedView* tensor : order) write_elements(file, tensor->view, tensor->view.dtype());
  file.commit();
}

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the limit of the format's own library

class HeaderParser {
 public:
  HeaderParser(std::span<const std::byte> file, const std::filesystem::path& path)
      : file_(file), path_(path.string()), json_(read_json()) {}

  SafetensorsHeader parse() {
    if (!json_.root().is_object()) json_.refuse(json_.root(), "the header", "a JSON object");
    SafetensorsHeader result;
    for (const auto& [name, entry] : json_.root().members()) {
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
  [[noreturn]] void refuse(std::string place, Phrase argument, Phrase found,
                           Phrase expected) const {
    fail({.code = ErrorCode::kCorrupt,
          .file = path_,
          .place = std::move(place),
          .argument = std::move(argument),
          .found = std::move(found),
          .expected = std::move(expected)});
  }

  JsonText read_json() {
    if (file_.size() < kLengthBytes)
      refuse("", "", fmt::format("the file has {} bytes", file_.size()),
             "a safetensors header's length of 8 bytes first");
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > kMostHeaderBytes)
      refuse("byte 0", "the header's length", length, fmt::format("at most {}", kMostHeaderBytes));
    if (length > file_.size() - kLengthBytes)
      refuse("byte 0", "the header's length", length,
             fmt::format("at most {}: the file ends at byte {}", file_.size() - kLengthBytes,
                         file_.size()));
    data_begin_ = static_cast<std::int64_t>(kLengthBytes + length);
    const auto* text = reinterpret_cast<const char*>(file_.data()) + kLengthBytes;
    return JsonText::parse(std::string(text, length),
                           {.file = path_, .byte = kLengthBytes, .unique_keys = true});
  }

  std::map<std::string, std::string> metadata(const Json& entry) const {
    std::map<std::string, std::string> result;
    if (entry.is_null()) return result;
    if (!entry.is_object()) json_.refuse(entry, "__metadata__", "an object of texts");
    for (const auto& [key, value] : entry.members()) {
      if (!value.is_text()) json_.refuse(value, "__metadata__." + key, "a text");
      result.emplace(key, *value.as_text());
    }
    return result;
  }

  // A member that is a list of nonnegative whole numbers.
  std::vector<std::int64_t> numbers(const std::string& name, const Json& entry,
                                    const char* member) const {
    const Json& list = entry[member];
    std::vector<std::int64_t> result;
    for (const Json& number : list.items())
      if (const auto value = number.as_integer(); value && *value >= 0 && *value < kLargest)
        result.push_back(*value);
    if (!list.is_array() || result.size() != list.items().size())
      json_.refuse(list, fmt::format("{}.{}", name, member), "a list of whole numbers");
    return result;
  }

  DType type(const std::string& name, const Json& entry) const {
    const Json& found = entry["dtype"];
    std::vector<std::string_view> served;
    for (const DTypeInfo& row : kDTypes) {
      if (found == Json(row.safetensors_name)) return row.dtype;
      served.push_back(row.safetensors_name);
    }
    json_.refuse(found, name + ".dtype", fmt::format("one of {}", joined(served, " ")),
                 found.is_text() ? ErrorCode::kUnsupported : ErrorCode::kCorrupt);
  }

  StoredTensor tensor(const std::string& name, const Json& entry) const {
    if (!entry.is_object()) json_.refuse(entry, name, "dtype, shape and data_offsets of a tensor");
    const std::vector<std::int64_t> extents = numbers(name, entry, "shape");
    const std::vector<std::int64_t> offsets = numbers(name, entry, "data_offsets");
    const DType dtype = type(name, entry);
    if (extents.size() > kMaxRank)
      json_.refuse(entry["shape"], name + ".shape", fmt::format("at most {} dimensions", kMaxRank),
                   ErrorCode::kUnsupported);
    const auto refuse_offsets = [&](Phrase expected) {
      json_.refuse(entry["data_offsets"], name + ".data_offsets", std::move(expected));
    };
    if (offsets.size() != 2 || offsets[0] > offsets[1]) refuse_offsets("[begin, end]");
    const std::int64_t begin = data_begin_ + offsets[0];
    const std::int64_t end = data_begin_ + offsets[1];
    const auto size = static_cast<std::int64_t>(file_.size());
    if (end > size)
      refuse_offsets(
          fmt::format("an end of at most {}: the file ends at byte {}", size - data_begin_, size));
    const std::string bytes = bytes_of(extents, dtype);
    if (bytes != fmt::to_string(end - begin))
      refuse_offsets(fmt::format("{} bytes for {} [{}]", bytes, info(dtype).safetensors_name,
                                 joined(extents, ", ")));
    return {.dtype = dtype, .shape = Shape(extents), .begin = begin, .end = end};
  }

  // "more than 2^63" if the product does not fit.
  static std::string bytes_of(const std::vector<std::int64_t>& extents, DType dtype) {
    auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
    bool overflow = false;
    for (const std::int64_t extent : extents)
      overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
    return overflow ? "more than 2^63" : fmt::to_string(bytes);
  }

  // Checks that every byte after the header belongs to exactly one tensor.
  void check_cover(const std::map<std::string, StoredTensor>& tensors) const {
    std::vector<std::pair<const StoredTensor*, std::string_view>> sorted;
    for (const auto& [name, tensor] : tensors) sorted.emplace_back(&tensor, name);
    std::ranges::sort(sorted, {}, [](const auto& entry) {
      return std::pair(entry.first->begin, entry.first->end);
    });
    std::int64_t reached = data_begin_;
    for (const auto& [tensor, name] : sorted) {
      if (tensor->begin != reached)
        refuse(fmt::format("byte {}", tensor->begin), fmt::format("the first byte of {}", name),
               tensor->begin,
               fmt::format("{}: tensors must neither overlap nor leave a hole", reached));
      reached = tensor->end;
    }
    if (reached != static_cast<std::int64_t>(file_.size()))
      refuse(fmt::format("byte {}", reached), "",
             fmt::format("the tensors end here, but the file goes on to byte {}", file_.size()),
             "");
  }

  static constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  std::span<const std::byte> file_;
  std::string path_;
  std::int64_t data_begin_ = 0;
  JsonText json_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           const std::filesystem::path& path) {
  refuse_lfs_pointer(path.string(), {reinterpret_cast<const char*>(file.data()), file.size()});
  return HeaderParser(file, path).parse();
}

}  // namespace heed
