// The one file that knows the JSON library: texts to values and values to texts.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

constexpr std::size_t kMostLevels = 128;  // like the library that writes tokenizer.json

/// Iterates over a text and reports how far the parser has come.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char& operator*() const { return *at; }
  Cursor& operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }

  const char* at = nullptr;
  const char** reached = nullptr;
};

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The beginning of the token whose last byte is before `end`.
std::size_t token_begin(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  if (text[begin] == '"') {
    const auto opens = [&](std::size_t at) {  // an even number of backslashes before the quote
      std::size_t first = at;
      while (first > 0 && text[first - 1] == '\\') --first;
      return text[at] == '"' && (at - first) % 2 == 0;
    };
    std::size_t at = begin;
    while (at > 0 && !opens(at - 1)) --at;
    return at > 0 ? at - 1 : begin;
  }
  if (!is_word(text[begin])) return begin;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return begin;
}

// The first member whose key another member repeats; null if there is none.
const Json::Member* find_again(const std::vector<Json::Member>& members) {
  std::unordered_set<std::string_view> keys;
  for (const Json::Member& one : members)
    if (!keys.insert(one.first).second) return &one;
  return nullptr;
}

// Of equal keys, keeps the last value at the place of the first.
void keep_last_of_equal_keys(std::vector<Json::Member>& members) {
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < members.size(); ++i) last[members[i].first] = i;
  if (last.size() == members.size()) return;
  std::vector<Json::Member> kept;
  for (Json::Member& member : members) {
    const auto found = last.find(member.first);
    if (found == last.end()) continue;
    Json value = std::move(members[found->second].second);
    last.erase(found);
    kept.emplace_back(member.first, std::move(value));
  }
  members = std::move(kept);
}

}  // namespace

/// Builds the tree from the parser's callbacks.
class JsonReader {
 public:
  JsonReader(std::string_view text, bool unique_keys)
      : text_(text), reached_(text.data()), unique_keys_(unique_keys) {}

  /// False if the text is not JSON: `fault` has the reason.
  bool read() {
    const char* end = text_.data() + text_.size();
    return nlohmann::json::sax_parse(Cursor{text_.data(), &reached_}, Cursor{end, &reached_}, this);
  }

  Json root;
  std::size_t fault_byte = 0;
  std::string fault;
  std::string twice;  // the repeated key

  // The parser's callbacks.
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string& /*digits*/) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(std::vector<std::uint8_t>& /*bytes*/) { return false; }  // never in JSON text
  bool key(std::string& key) {
    members().emplace_back(std::move(key), Json());
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_object() {
    const Json::Member* const again = unique_keys_ ? find_again(members()) : nullptr;
    if (again != nullptr) return refuse_again(*again);
    keep_last_of_equal_keys(members());
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const auto& error) {
    constexpr int kOutOfRange = 406;
    fault_byte = std::min(position, text_.size());
    if (position > text_.size()) return refuse("not JSON: ends too early");
    if (fault_byte > 0) fault_byte = token_begin(text_, fault_byte);
    std::string_view token = text_.substr(fault_byte, position - fault_byte);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    token = token.substr(
        0, std::max<std::size_t>(std::ranges::find_if(token, is_control) - token.begin(), 1));
    if (error.id == kOutOfRange)
      return refuse(fmt::format("the number {} is beyond all that f64 holds", clipped(token)));
    const auto byte = static_cast<unsigned char>(token.empty() ? '\0' : token.front());
    return refuse(byte < 0x20 || byte > 0x7E
                      ? fmt::format("not JSON: unexpected byte 0x{:02x}", byte)
                      : fmt::format("not JSON: unexpected {}", clipped(token)));
  }

 private:
  std::vector<Json::Member>& members() {
    return std::get<std::vector<Json::Member>>(open_.back()->value_);
  }

  Json& place() {
    if (open_.empty()) return root;
    if (auto* items = std::get_if<std::vector<Json>>(&open_.back()->value_))
      return items->emplace_back();
    return members().back().second;
  }

  bool put(Json value) {
    std::size_t end = static_cast<std::size_t>(reached_ - text_.data());
    // The parser reads one byte past a number to find its end.
    if (is_number(value) && !is_word(text_[end - 1])) --end;
    value.end_ = end;
    place() = std::move(value);
    return true;
  }

  bool open(Json container) {
    container.end_ = static_cast<std::size_t>(reached_ - text_.data());
    if (open_.size() == kMostLevels) {
      fault_byte = container.end_ - 1;
      return refuse(fmt::format("nested deeper than {} levels", kMostLevels));
    }
    Json& json = place();
    json = std::move(container);
    open_.push_back(&json);
    return true;
  }

  bool refuse(std::string why) {
    fault = std::move(why);
    return false;
  }

  bool refuse_again(const Json::Member& again) {
    twice = clipped(again.first);
    fault_byte = token_begin(text_, again.second.end_);
    return refuse("given twice");
  }
  static bool is_number(const Json& value) { return value.as_number().has_value(); }

  std::string_view text_;
  const char* reached_;
  bool unique_keys_;
  std::vector<Json*> open_;
};

JsonText JsonText::parse(std::string text, Origin origin) {
  JsonText result;
  result.text_ = std::move(text);
  result.origin_ = std::move(origin);
  JsonReader reader(result.text_, result.origin_.unique_keys);
  if (!reader.read())
    fail({.code = ErrorCode::kCorrupt,
          .file = result.origin_.file,
          .place = result.place_of_byte(reader.fault_byte),
          .argument = reader.twice,
          .found = reader.fault,
          .expected = reader.twice.empty() ? "" : "once"});
  result.root_ = std::move(reader.root);
  return result;
}

std::string JsonText::place(const Json& value) const {
  return value.end_ == 0 ? "" : place_of_byte(token_begin(text_, value.end_));
}

std::string JsonText::place_of_byte(std::size_t byte) const {
  if (origin_.byte) return fmt::format("byte {}", *origin_.byte + byte);
  const std::string_view before = std::string_view(text_).substr(0, byte);
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                     std::ssize(line) - std::ranges::count_if(line, is_continuation) + 1);
}

void JsonText::refuse(const Json& value, Phrase argument, Phrase expected, ErrorCode code) const {
  const bool given = value.end_ > 0;
  fail({.code = code,
        .file = origin_.file,
        .place = place(value),
        .argument = std::move(argument),
        .found = given ? value.brief() : "",
        .expected = std::move(expected)});
}

namespace {

// The same value as the library has it.
nlohmann::ordered_json for_library(const Json& json) {
  if (json.is_object()) {
    nlohmann::ordered_json::object_t members;
    for (const auto& [key, value] : json.members()) members.emplace_back(key, for_library(value));
    return members;
  }
  if (json.is_array()) {
    nlohmann::ordered_json::array_t items;
    for (const Json& item : json.items()) items.push_back(for_library(item));
    return items;
  }
  if (const std::string* text = json.as_text()) return *text;
  if (const auto flag = json.as_flag()) return *flag;
  if (const auto number = json.as_integer()) return *number;
  if (const auto number = json.as_unsigned()) return *number;
  if (const auto number = json.as_number()) return *number;
  return nullptr;
}

}  // namespace

std::string Json::dump(int indent) const {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return for_library(*this).dump(indent, ' ', /*ensure_ascii=*/false, kReplace);
}

std::string Json::brief() const { return clipped(dump()); }

}  // namespace heed
