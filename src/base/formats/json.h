// JSON as a value, parsed from files or written to them. Only json_text.cpp knows the library that
// parses it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "heed/error.h"

namespace heed {

class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> Flag>
  Json(Flag value) : value_(value) {}
  template <std::signed_integral Number>
  Json(Number value) : value_(std::int64_t{value}) {}
  template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
  Json(Number value) : Json(of_unsigned(value)) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  /// An object with these members, in this order.
  Json(std::initializer_list<Member> members) : value_(std::vector<Member>(members)) {}
  template <typename T>
  Json(const std::vector<T>& items) : value_(std::vector<Json>(items.begin(), items.end())) {}
  template <typename T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}

  static Json array(std::initializer_list<Json> items = {}) { return std::vector<Json>(items); }
  static Json object() { return Json(std::initializer_list<Member>{}); }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
  bool is_object() const { return std::holds_alternative<std::vector<Member>>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }

  /// Empty if the value is of another kind: `as_integer` and `as_unsigned` accept whole numbers
  /// written as such (3, not 3.0) that fit, `as_number` accepts every number.
  std::optional<bool> as_flag() const;
  std::optional<std::int64_t> as_integer() const;
  /// Also accepts 3.0, which other languages write for 3.
  std::optional<std::int64_t> as_whole_number() const;
  std::optional<std::uint64_t> as_unsigned() const;
  std::optional<double> as_number() const;
  const std::string* as_text() const { return std::get_if<std::string>(&value_); }

  /// The items of an array and the members of an object, in order; empty for other values.
  std::span<const Json> items() const;
  std::span<const Member> members() const;
  /// The member of an object; null if it is absent or the value is not an object.
  const Json& operator[](std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// Sets a member of an object (or of null, which becomes an object), at its old place or at the
  /// end.
  Json& set(std::string_view key, Json value);
  /// Appends a member that the object must not have yet.
  void add(std::string key, Json value);
  /// Appends to an array (or to null, which becomes an array).
  void push(Json item);

  /// On one line, or with line breaks and `indent` spaces per level. Invalid UTF-8 is replaced.
  std::string dump(int indent = -1) const;
  /// `dump()` for messages: long values are cut short.
  std::string brief() const;

  /// Numbers compare by value: 0 equals 0.0. Objects compare in any order of members.
  friend bool operator==(const Json& a, const Json& b);

 private:
  friend class JsonReader;
  friend class JsonText;
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                             std::vector<Json>, std::vector<Member>>;

  static Json of_unsigned(std::uint64_t value);
  const Json* find(std::string_view key) const;

  Value value_ = nullptr;
  std::size_t end_ = 0;  // the byte after its first token; 0 for values made in memory
};

/// A parsed text, and its name in errors.
class JsonText {
 public:
  struct Origin {
    std::string file;                      // its path, or a substitute
    std::optional<std::size_t> byte = {};  // where the text begins in a binary file
    bool unique_keys = false;              // within an object; false: the last of equal keys counts
  };

  /// Strict JSON in UTF-8, nested at most 128 levels deep. Errors are kCorrupt with file and place.
  static JsonText parse(std::string text, Origin origin);

  const Json& root() const { return root_; }
  const std::string& text() const { return text_; }
  const std::string& file() const { return origin_.file; }
  /// Where a value of this text begins: "line 3, column 14", or "byte 42" in a binary file; empty
  /// for values from elsewhere.
  std::string place(const Json& value) const;

  /// Throws: this value of the text, the member `argument`, is not what is expected.
  [[noreturn]] void refuse(const Json& value, Phrase argument, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  std::string place_of_byte(std::size_t byte) const;

  Json root_;
  std::string text_;
  Origin origin_;
};

}  // namespace heed
