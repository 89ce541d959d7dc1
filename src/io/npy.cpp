// Reads and writes NumPy's .npy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "io/atomic_file.h"
#include "io/npy_header.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "heed's files are little-endian");

constexpr std::size_t kMaxHeader = 1 << 20;  // NumPy's headers have 118 bytes

struct Opening {
  NpyHeader header;
  std::int64_t data_begin = 0;
};

// Reads the eight bytes at the beginning of every file; returns the major version.
unsigned char read_version(InputFile& file, const std::filesystem::path& path) {
  std::array<unsigned char, 8> start = {};
  const std::size_t have = file.read(start.data(), start.size());
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), 6);
  if (have < start.size() || magic != "\x93NUMPY")
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = "byte 0",
          .found = "not an npy file",
          .expected = "'\\x93NUMPY'"});
  if (start[6] < 1 || start[6] > 3)
    fail({.code = ErrorCode::kUnsupported,
          .file = path.string(),
          .place = "byte 6",
          .argument = "the npy version",
          .found = fmt::format("{}.{}", start[6], start[7]),
          .expected = "1.0, 2.0 or 3.0"});
  return start[6];
}

Opening read_opening(InputFile& file, const std::filesystem::path& path) {
  const std::size_t length_bytes = read_version(file, path) == 1 ? 2 : 4;
  std::array<unsigned char, 4> digits = {};  // of the header's length, little-endian
  std::size_t have = file.read(digits.data(), length_bytes);
  std::size_t length = 0;
  for (std::size_t i = have; i-- > 0;) length = length << 8 | digits[i];
  const auto begin = static_cast<std::int64_t>(8 + length_bytes);
  if (have < length_bytes || length > kMaxHeader)
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = "byte 8",
          .found = "broken npy header length"});
  std::string dictionary(length, '\0');
  have = file.read(dictionary.data(), length);
  if (have < length)
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .place = fmt::format("byte {}", begin + static_cast<std::int64_t>(have)),
          .found =
              fmt::format("the file ends inside its npy header of {}", number_of(length, "byte"))});
  return {parse_npy_dictionary(dictionary, begin, path), begin + static_cast<std::int64_t>(length)};
}

// Size of the array in bytes; an error if it exceeds 63 bits.
std::int64_t data_bytes(const NpyHeader& header, const std::filesystem::path& path) {
  auto bytes = static_cast<std::int64_t>(size_bytes(header.dtype));
  bool overflow = false;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) return 0;
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow) fail_in(path.string(), "shape", to_string(header.shape), "fewer bytes than 2^63");
  return bytes;
}

void check_end(const Opening& opening, std::int64_t found, std::int64_t expected,
               const std::filesystem::path& path) {
  if (found == expected) return;
  fail({.code = ErrorCode::kCorrupt,
        .file = path.string(),
        .place = fmt::format("byte {}", opening.data_begin + std::min(found, expected)),
        .found = found < expected ? "the file ends here" : "the file goes on",
        .expected = fmt::format("the data of {} {} to end at byte {}", name(opening.header.dtype),
                                to_string(opening.header.shape), opening.data_begin + expected)});
}

void check_booleans(const Tensor& tensor, std::int64_t data_begin,
                    const std::filesystem::path& path) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.view().raw());
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) {
    if (bytes[i] > 1)
      fail({.code = ErrorCode::kCorrupt,
            .file = path.string(),
            .place = fmt::format("byte {}", data_begin + i),
            .argument = "an element",
            .found = bytes[i],
            .expected = "0 or 1 in an array of bool"});
  }
}

// A Fortran-order array's memory as a view with the array's own shape.
ConstView fortran_view(const Tensor& tensor) {
  Shape strides = tensor.shape();
  std::int64_t step = 1;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    strides[axis] = step;
    step *= tensor.shape()[axis];
  }
  return {tensor.view().raw(), tensor.dtype(), tensor.shape(), strides};
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  InputFile file(path);
  const Opening opening = read_opening(file, path);
  const NpyHeader& header = opening.header;
  const std::int64_t expected = data_bytes(header, path);
  if (const std::int64_t size = file.size(); size >= 0)  // checked before memory is allocated
    check_end(opening, size - opening.data_begin, expected, path);
  Tensor tensor = Tensor::empty(header.shape, header.dtype);
  const std::size_t found = file.read(tensor.view().raw(), static_cast<std::size_t>(expected));
  check_end(opening, static_cast<std::int64_t>(found), expected, path);
  char beyond = 0;
  if (file.read(&beyond, 1) != 0) check_end(opening, expected + 1, expected, path);
  if (header.dtype == DType::kBool) check_booleans(tensor, opening.data_begin, path);
  return header.fortran_order ? Tensor::copy_of(fortran_view(tensor)) : std::move(tensor);
}

void write_npy(const std::filesystem::path& path, const ConstView& array) {
  const DType dtype = array.dtype() == DType::kBF16 ? DType::kF32 : array.dtype();
  AtomicFile file(path);
  file.write(format_npy_header({.dtype = dtype, .fortran_order = false, .shape = array.shape()}));
  write_elements(file, array, dtype);
  file.commit();
}

namespace {

constexpr std::pair<DType, std::string_view> kDescriptors[] = {
    {DType::kF64, "<f8"}, {DType::kF32, "<f4"}, {DType::kF16, "<f2"}, {DType::kI64, "<i8"},
    {DType::kI32, "<i4"}, {DType::kI8, "|i1"},  {DType::kU8, "|u1"},  {DType::kBool, "|b1"},
};

// Reads the Python literals that NumPy writes.
class Dictionary {
 public:
  Dictionary(std::string_view text, std::int64_t offset, const std::filesystem::path& path)
      : text_(text), offset_(offset), path_(path) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      value(key);
      if (!accept(',') && peek() != '}') fail_at("',' or '}'");
    }
    if (peek() != '\0') fail_at("the end of the header");
    if (!(has_type_ && has_order_ && has_shape_)) fail_at("'descr', 'fortran_order' and 'shape'");
    return header_;
  }

 private:
  [[noreturn]] void fail_at(std::string_view expected) const {
    fail({.code = ErrorCode::kCorrupt,
          .file = path_.string(),
          .place = place(),
          .found = "broken npy header",
          .expected = expected});
  }
  std::string place() const {
    return fmt::format("byte {}", offset_ + static_cast<std::int64_t>(position_));
  }
  [[noreturn]] void refuse(Phrase argument, Phrase found, Phrase expected) const {
    fail({.code = ErrorCode::kUnsupported,
          .file = path_.string(),
          .place = place(),
          .argument = std::move(argument),
          .found = std::move(found),
          .expected = std::move(expected)});
  }
  char peek() {
    while (position_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
      ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail_at(fmt::format("'{}'", wanted));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_at("a quoted string");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail_at("a closing quote");
    std::string content(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return content;
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return word == "True";
    }
    fail_at("True or False");
  }
  std::int64_t extent() {
    peek();
    std::int64_t number = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc() || number < 0) fail_at("a number of at least 0");
    position_ += static_cast<std::size_t>(end - begin);
    accept('L');  // Python 2's suffix of long integers
    return number;
  }
  Shape tuple() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(extent());
      if (!accept(',') && peek() != ')') fail_at("',' or ')'");
    }
    if (extents.size() > kMaxRank)
      refuse("shape", fmt::format("of {}", number_of(extents.size(), "dimension")),
             fmt::format("at most {}", kMaxRank));
    return Shape(extents);
  }
  DType type() {
    if (const char next = peek(); next != '\'' && next != '"')
      refuse("descr", "a structured type", kServed);
    std::string descriptor = quoted();
    const std::string written = descriptor;
    const bool one_byte = descriptor.ends_with('1');
    if (descriptor.starts_with('=') || (one_byte && !descriptor.empty()))
      descriptor[0] = one_byte ? '|' : '<';
    for (const auto& [dtype, name] : kDescriptors)
      if (name == descriptor) return dtype;
    refuse("descr", fmt::format("'{}'", written), kServed);
  }
  void value(const std::string& key) {
    if (key == "descr") {
      header_.dtype = type();
      has_type_ = true;
    } else if (key == "fortran_order") {
      header_.fortran_order = boolean();
      has_order_ = true;
    } else if (key == "shape") {
      header_.shape = tuple();
      has_shape_ = true;
    } else {
      fail_at("'descr', 'fortran_order' or 'shape' before this value");
    }
  }

  static constexpr std::string_view kServed =
      "one of <f8 <f4 <f2 <i8 <i4 |i1 |u1 |b1 (little-endian)";
  std::string_view text_;
  std::int64_t offset_;
  const std::filesystem::path& path_;
  std::size_t position_ = 0;
  NpyHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_dictionary(std::string_view text, std::int64_t offset,
                               const std::filesystem::path& path) {
  return Dictionary(text, offset, path).parse();
}

std::string format_npy_header(const NpyHeader& header) {
  constexpr std::size_t kBefore = 10;  // magic, version, length
  const auto* descriptor =
      std::ranges::find(kDescriptors, header.dtype, &std::pair<DType, std::string_view>::first);
  std::string dictionary = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descriptor->second,
      joined(header.shape, ", "), header.shape.rank() == 1 ? "," : "");
  const std::size_t whole = (kBefore + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.resize(whole - kBefore - 1, ' ');
  dictionary += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(dictionary.size() & 0xFF);
  result += static_cast<char>(dictionary.size() >> 8);
  return result + dictionary;
}

}  // namespace heed
