#include "io/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"

namespace heed {
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
