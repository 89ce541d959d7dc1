// Values as Python prints them, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "text/jinja/value.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::jinja {
namespace {

std::string as_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// Categories that Python escapes: unassigned, separators, controls, format, surrogates, private.
bool is_printable(char32_t code) {
  const std::size_t category = general_category(code);
  return code == ' ' || (category != 0 && category < 23);
}

std::string quoted(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for_each_character(text, [&](char32_t code, std::string_view own) {
    if (code == static_cast<char32_t>(quote) || code == '\\') {
      out += '\\';
      out += own;
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (is_printable(code)) {
      out += own;
    } else {
      const auto number = static_cast<std::uint32_t>(code);
      out += code < 0x100     ? fmt::format("\\x{:02x}", number)
             : code < 0x10000 ? fmt::format("\\u{:04x}", number)
                              : fmt::format("\\U{:08x}", number);
    }
  });
  return out + quote;
}

}  // namespace

std::string as_text(const Value& value) {
  if (value.is_undefined()) return "";
  if (const std::string* text = value.text()) return *text;
  return representation(value);
}

std::string representation(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "None";
  if (value.is_flag()) return value.truth() ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_float()) return as_text(value.number());
  if (const std::string* text = value.text()) return quoted(*text);
  std::string out;
  const auto separate = [&] { out += out.empty() ? "" : ", "; };
  const List* list = value.list();
  if (list != nullptr && list->kind != Sequence::kGenerator) {
    for (const Value& item : list->items) {
      separate();
      out += representation(item);
    }
    if (list->kind == Sequence::kList) return "[" + out + "]";
    return "(" + out + (list->items.size() == 1 ? ",)" : ")");
  }
  const Mapping* dict = value.dict();
  if (dict == nullptr) refuse(fmt::format("{} is printed", value.type()), "a value");
  for (const auto& [name, member] : dict->members) {
    separate();
    out += quoted(name) + ": " + representation(member);
  }
  return "{" + out + "}";
}

namespace {

std::string json_escape(char32_t code) {
  constexpr std::u32string_view kPlain = U"\"\\\n\r\t\b\f";
  constexpr std::string_view kLetters = "\"\\nrtbf";
  if (const std::size_t at = kPlain.find(code); at != kPlain.npos) return {'\\', kLetters[at]};
  const auto number = static_cast<std::uint32_t>(code);
  if (number < 0x10000) return fmt::format("\\u{:04x}", number);
  const std::uint32_t rest = number - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

std::string json_text(const std::string& text, bool ascii) {
  std::string out = "\"";
  for_each_character(text, [&](char32_t code, std::string_view own) {
    const bool plain = code >= ' ' && code != '"' && code != '\\' && (!ascii || code < 0x7F + 1);
    out += plain ? std::string(own) : json_escape(code);
  });
  return out + "\"";
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value, int level) {
    const List* list = value.list();
    if (list != nullptr && list->kind != Sequence::kGenerator) {
      write_all('[', list->items, ']', level, [&](const Value& item) { write(item, level + 1); });
    } else if (const Mapping* dict = value.dict()) {
      Members members = dict->members;
      if (style_.sorted) std::ranges::stable_sort(members, {}, &Members::value_type::first);
      write_all('{', members, '}', level, [&](const auto& member) {
        out_ += json_text(member.first, style_.ascii) + style_.key_separator;
        write(member.second, level + 1);
      });
    } else {
      write_plain(value);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  template <typename Items, typename WriteItem>
  void write_all(char open, const Items& items, char close, int level, const WriteItem& one) {
    out_ += open;
    bool is_first = true;
    for (const auto& item : items) {
      if (!std::exchange(is_first, false)) out_ += style_.item_separator;
      break_line(level + 1);
      one(item);
    }
    if (!items.empty()) break_line(level);
    out_ += close;
  }
  void break_line(int level) {
    if (!style_.is_indented) return;
    out_ += '\n';
    for (int i = 0; i < level; ++i) out_ += style_.indent;
    require_size(std::ssize(out_));
  }
  void write_plain(const Value& value) {
    if (const std::string* text = value.text())
      out_ += json_text(*text, style_.ascii);
    else if (value.is_none())
      out_ += "null";
    else if (value.is_flag())
      out_ += value.truth() ? "true" : "false";
    else if (value.is_float() && std::isnan(value.number()))
      out_ += "NaN";
    else if (value.is_float() && std::isinf(value.number()))
      out_ += value.number() < 0 ? "-Infinity" : "Infinity";
    else if (value.is_number())
      out_ += representation(value);
    else
      refuse(fmt::format("{} as JSON", value.type()), "a value that JSON has");
  }

  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace heed::jinja
