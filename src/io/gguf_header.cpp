#include "io/gguf_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMostItems =
    std::uint64_t{1} << 23;  // for all lists together: a file of 100 bytes must not take memory
constexpr std::uint64_t kMostName = 1 << 16;  // bytes of the name of a key or tensor
constexpr std::uint32_t kMostDims = 4;
constexpr std::size_t kShownBytes = 100;  // of a name shown in a message

using enum GgufValue;

class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::filesystem::path& path)
      : file_(file), path_(path.string()) {}

  GgufHeader parse() {
    const std::string_view start(reinterpret_cast<const char*>(file_.data()),
                                 std::min<std::size_t>(file_.size(), 200));
    refuse_lfs_pointer(path_, start);
    if (file_.size() < 4 || number<std::uint32_t>("the magic") != kMagic)
      refuse(0, "the file's begin", "something else", "GGUF");
    read_version();
    const auto tensors = number<std::uint64_t>("the number of tensors");
    const auto keys = number<std::uint64_t>("the number of keys");
    // The least size of an entry: a name's length and, for a tensor, also dimensions, type and
    // place.
    require_room(keys, 13, "the number of keys");
    require_room(tensors, 32, "the number of tensors");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(header_);
  }

 private:
  [[noreturn]] void refuse(std::size_t byte, Phrase argument, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const {
    fail({.code = code,
          .file = path_,
          .place = fmt::format("byte {}", byte),
          .argument = std::move(argument),
          .found = std::move(found),
          .expected = std::move(expected)});
  }

  static std::string is_broken(std::string_view what) {
    return fmt::format("the file is cut or broken: {}", what);
  }

  void require_room(std::uint64_t count, std::uint64_t least_bytes, std::string_view what) const {
    const std::uint64_t left = file_.size() - at_;
    if (count > left / least_bytes)
      refuse(at_, is_broken(what), count,
             fmt::format("at most {}: the file ends at byte {}", left / least_bytes, file_.size()));
  }

  template <typename T>
  T number(std::string_view what) {
    T value;
    if (file_.size() - at_ < sizeof value)
      refuse(at_, what, fmt::format("cut: the file ends at byte {}", file_.size()),
             number_of(sizeof value, "byte"));
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string text(std::string_view what,
                   std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const std::size_t begin = at_;
    const auto length = number<std::uint64_t>(what);
    if (length > file_.size() - at_)
      refuse(begin, is_broken(what), number_of(length, "byte"),
             fmt::format("at most {}: the file ends at byte {}", file_.size() - at_, file_.size()));
    if (length > most)
      refuse(begin, what, number_of(length, "byte"), fmt::format("at most {}", most));
    std::string value(reinterpret_cast<const char*>(file_.data()) + at_, length);
    at_ += length;
    return value;
  }

  void read_version() {
    const auto version = number<std::uint32_t>("the version");
    if (version == 2 || version == 3) return;
    const bool swapped = version != 0 && (version & 0xffff) == 0;
    refuse(4, "the version", swapped ? Phrase("that of a big-endian file") : Phrase(version),
           "2 or 3, little-endian", ErrorCode::kUnsupported);
  }

  void read_key() {
    const std::size_t begin = at_;
    std::string key = text("a key", kMostName);
    const std::string what = shown(key);
    const auto type = number<std::uint32_t>(what);
    const auto [at, is_new] = header_.metadata.emplace(std::move(key), Json());
    if (!is_new) refuse(begin, what, "there twice", "different keys");
    at->second = value(what, type);
  }

  static std::string shown(const std::string& name) { return clipped(name, kShownBytes); }

  // `what`: the key as shown in messages.
  Json value(const std::string& what, std::uint32_t type) {
    switch (static_cast<GgufValue>(type)) {
      case kU8:
        return number<std::uint8_t>(what);
      case kI8:
        return number<std::int8_t>(what);
      case kU16:
        return number<std::uint16_t>(what);
      case kI16:
        return number<std::int16_t>(what);
      case kU32:
        return number<std::uint32_t>(what);
      case kI32:
        return number<std::int32_t>(what);
      case kF32:
        return shortest(number<float>(what));
      case kFlag:
        return number<std::uint8_t>(what) != 0;
      case kText:
        return text(what);
      case kList:
        return list(what);
      case kU64:
        return number<std::uint64_t>(what);
      case kI64:
        return number<std::int64_t>(what);
      case kF64:
        return number<double>(what);
      default:
        refuse(at_ - 4, what + ".type", type, "0 to 12", ErrorCode::kUnsupported);
    }
  }

  // The shortest text for the f32: 1e-05, as in configurations, not 9.999999747378752e-06.
  static double shortest(float number) {
    const std::string text = fmt::format("{}", number);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? value : double{number};
  }

  Json list(const std::string& what) {
    const auto type = number<std::uint32_t>(what);
    if (type == static_cast<std::uint32_t>(kList))
      refuse(at_ - 4, what, "a list of lists", "a list of texts or numbers",
             ErrorCode::kUnsupported);
    const auto count = number<std::uint64_t>(what);
    require_room(count, least_bytes(type), what);
    if (count > kMostItems - items_)
      refuse(at_ - 8, what, number_of(count, "item"),
             fmt::format("at most {} in all lists", kMostItems), ErrorCode::kUnsupported);
    items_ += count;
    std::vector<Json> items;
    items.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) items.push_back(value(what, type));
    return items;
  }

  static std::uint64_t least_bytes(std::uint32_t type) {
    constexpr std::array<std::uint64_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return type < kBytes.size() ? kBytes[type] : 1;
  }

  void read_tensor() {
    const std::size_t begin = at_;
    const std::string name = text("a tensor's name", kMostName);
    const Shape shape = read_shape(name);
    const auto id = number<std::uint32_t>(shown(name));
    const GgufType* type = gguf_type(id);
    if (type == nullptr)
      refuse(
          at_ - 4, shown(name) + ".type", gguf_type_name(id),
          fmt::format("{}; llama.cpp converts it: llama-quantize --allow-requantize FILE OUT Q8_0",
                      gguf_type_names()),
          ErrorCode::kUnsupported);
    const auto offset = number<std::uint64_t>(shown(name));
    if (shape[shape.rank() - 1] % type->elements != 0)
      refuse(begin, shown(name) + ".shape", to_string(shape),
             fmt::format("rows of a multiple of {} numbers, a block of {}", type->elements,
                         type->name));
    std::int64_t bytes = type->bytes;
    bool too_many = __builtin_mul_overflow(bytes, shape[shape.rank() - 1] / type->elements, &bytes);
    for (int axis = 0; axis + 1 < shape.rank(); ++axis)
      too_many |= __builtin_mul_overflow(bytes, shape[axis], &bytes);
    if (too_many || static_cast<std::uint64_t>(bytes) > file_.size())
      refuse(
          begin, shown(name) + ".shape", to_string(shape),
          fmt::format("a tensor of at most {}, as the file has", number_of(file_.size(), "byte")));
    const GgufTensor tensor = {
        .type = type, .shape = shape, .begin = offset, .end = static_cast<std::size_t>(bytes)};
    if (!header_.tensors.emplace(name, tensor).second)
      refuse(begin, shown(name), "there twice", "different names");
  }

  Shape read_shape(const std::string& name) {
    const auto dims = number<std::uint32_t>(shown(name));
    if (dims == 0 || dims > kMostDims)
      refuse(at_ - 4, shown(name) + ".shape", number_of(dims, "dimension"),
             fmt::format("1 to {}", kMostDims));
    std::vector<std::int64_t> extents;
    for (std::uint32_t i = 0; i < dims; ++i) {
      const auto extent = number<std::uint64_t>(shown(name));
      if (extent == 0 ||
          extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse(at_ - 8, shown(name) + ".shape", extent, "an extent from 1");
      extents.insert(extents.begin(), static_cast<std::int64_t>(extent));
    }
    return Shape(extents);
  }

  std::uint64_t alignment() const {
    const auto found = header_.metadata.find("general.alignment");
    if (found == header_.metadata.end()) return kGgufAlignment;
    const auto value = found->second.as_unsigned();
    if (!value || *value == 0 || *value % 8 != 0 || *value > (1U << 30))
      fail_in(path_, "general.alignment", found->second.brief(), "a multiple of 8");
    return *value;
  }

  // When tensors are parsed, `begin` counts from the beginning of the data and `end` is a length;
  // from here on both are offsets in the file.
  void place_tensors() {
    const std::uint64_t align = alignment();
    const std::uint64_t data = (at_ + align - 1) / align * align;
    std::vector<std::pair<GgufTensor*, const std::string*>> order;
    for (auto& [name, tensor] : header_.tensors) {
      const std::uint64_t offset = tensor.begin, bytes = tensor.end;
      if (offset % align != 0)
        refuse(at_, shown(name) + ".offset", offset, fmt::format("a multiple of {}", align));
      if (data > file_.size() || offset > file_.size() - data ||
          bytes > file_.size() - data - offset)
        refuse(at_, shown(name) + ".offset", offset,
               fmt::format("one that leaves {} for it: the file ends at byte {}",
                           number_of(bytes, "byte"), file_.size()));
      tensor.begin = data + offset;
      tensor.end = data + offset + bytes;
      order.emplace_back(&tensor, &name);
    }
    std::ranges::sort(order, {}, [](const auto& entry) { return entry.first->begin; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i].first->begin < order[i - 1].first->end)
        refuse(order[i].first->begin, shown(*order[i].second),
               fmt::format("a tensor that overlaps {}", shown(*order[i - 1].second)),
               "tensors of their own bytes");
  }

  std::span<const std::byte> file_;
  std::string path_;
  std::size_t at_ = 0;
  std::uint64_t items_ = 0;
  GgufHeader header_;
};

}  // namespace

GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::filesystem::path& path) {
  return Parser(file, path).parse();
}

}  // namespace heed
