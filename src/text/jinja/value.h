// A value of a template, with Python's semantics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/formats/json.h"
#include "heed/error.h"

namespace heed::jinja {

class Value;
using Values = std::vector<Value>;
using Members = std::vector<std::pair<std::string, Value>>;

/// A missing name or member: prints nothing, and throws when used.
struct Undefined {
  std::string name;  // "messages[0].content"; empty: an unnamed item
};

/// Values are freed recursively, so nesting of lists is bounded; a namespace that contained itself
/// would never be freed.
struct Nesting {
  int depth = 0;
  std::int64_t size = 64;   // approximate size in bytes; shared values count repeatedly
  bool has_object = false;  // a namespace or a function
};

/// A generator is the result of filters such as `map`: it is true even if it has no items.
enum class Sequence : std::uint8_t { kList, kTuple, kGenerator };

enum class Kind : std::uint8_t { kDict, kNamespace, kLoop };

struct List;
struct Mapping;
struct Function;

class Value {
 public:
  Value() : value_(Undefined{}) {}
  Value(Undefined undefined) : value_(std::move(undefined)) {}
  Value(std::nullptr_t) : value_(nullptr) {}
  Value(bool flag) : value_(flag) {}
  Value(std::int64_t number) : value_(number) {}
  Value(double number) : value_(number) {}
  Value(std::string text) : value_(std::move(text)) {}
  Value(const char* text) : value_(std::string(text)) {}
  Value(List list);
  Value(Mapping mapping);
  Value(Function function);
  static Value of(const Json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(value_); }
  bool is_none() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_flag() const { return std::holds_alternative<bool>(value_); }
  bool is_float() const { return std::holds_alternative<double>(value_); }
  /// Python's bool is an int.
  bool is_integer() const { return is_flag() || std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || is_float(); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const List* list() const;
  Mapping* mapping() const;
  const Mapping* dict() const;  // null of a namespace
  const Function* function() const;
  const Undefined* undefined() const { return std::get_if<Undefined>(&value_); }

  std::int64_t integer() const;  // requires is_integer
  double number() const;         // requires is_number
  bool truth() const;
  Nesting nesting() const;
  /// "str", "NoneType": Python's name of the type.
  std::string_view type() const;

 private:
  std::variant<Undefined, std::nullptr_t, bool, std::int64_t, double, std::string,
               std::shared_ptr<const List>, std::shared_ptr<Mapping>,
               std::shared_ptr<const Function>>
      value_;
};

struct List {
  Values items = {};
  Sequence kind = Sequence::kList;
  Nesting nesting = {};  // set when it becomes a value
};

struct Mapping {
  Members members = {};  // in insertion order
  Kind kind = Kind::kDict;
  Nesting nesting = {};  // of a dictionary
};

struct Arguments;

/// A macro, a method bound to its object, or a function of the environment.
struct Function {
  std::string name;
  std::function<Value(const Arguments&)> call;
};

/// The arguments of a call, a filter or a test.
struct Arguments {
  Values positional = {};
  Members named = {};

  /// The argument at this place or with this name; null if not given.
  const Value* find(std::size_t place, std::string_view name) const;
  std::int64_t integer(std::size_t place, std::string_view name, std::int64_t otherwise) const;
  bool flag(std::size_t place, std::string_view name) const;
  /// Throws if it is not given or not a text.
  std::string text(std::size_t place, std::string_view name) const;
  /// Throws if there are more than `most`, or one with another name.
  void require(std::size_t most, std::string_view names = {}) const;
};

/// Throws: the template is wrong, or uses something unsupported.
[[noreturn]] void refuse(Phrase found, Phrase expected = {});
[[noreturn]] void not_served(std::string_view what, std::string_view name);
[[noreturn]] void refuse_undefined(const Undefined& undefined);

const Value* find(const Members& members, std::string_view name);
void set(Members& members, std::string_view name, Value value);

/// Like Python's `str` and `repr`.
std::string as_text(const Value& value);
std::string representation(const Value& value);

bool equal(const Value& a, const Value& b);
/// Compares numbers by value, texts by characters, lists by items; throws for others.
bool less(const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);

/// The items of a list, keys of a dictionary or characters of a text; throws for others.
Values items_of(const Value& value);
std::int64_t length_of(const Value& value);
/// A tuple (name, value) for each member.
Values pairs_of(const Mapping& mapping);

struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  bool is_indented = false;
  std::string indent = {};
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// Like Python's json.dumps.
std::string to_json(const Value& value, const JsonStyle& style);

/// Throws if a text or list would exceed a template's limit, 64 MiB.
void require_size(std::int64_t size);

}  // namespace heed::jinja
