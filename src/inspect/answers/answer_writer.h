// Writes the JSON of every answer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "inspect/answers/fields.h"

namespace heed {

/// kLine: everything on one line. kLines: for people, one line per top-level field and per item of
/// its lists.
enum class JsonLayout : std::uint8_t { kLine, kLines };

class AnswerWriter {
 public:
  using Sink = std::function<void(std::string_view part)>;

  /// Passes pieces of a few kilobytes to the sink; without a sink, `text` has everything.
  explicit AnswerWriter(JsonLayout layout = JsonLayout::kLine, Sink sink = {})
      : layout_(layout), sink_(std::move(sink)) {}

  /// Writes the whole answer.
  template <Described Answer>
  void write(const Answer& answer) {
    value(answer);
    if (layout_ == JsonLayout::kLines) json_ += '\n';
    if (sink_) sink_(json_);
  }
  const std::string& text() const { return json_; }

  /// Writes one field of the current object; called by `describe`.
  template <typename Value>
  void operator()(std::string_view name, const Value& field) {
    if constexpr (IsOptional<Value>::value) {
      if (field) (*this)(name, *field);
    } else {
      next();
      json_.append(1, '"').append(name).append(layout_ == JsonLayout::kLine ? "\":" : "\": ");
      value(field);
    }
  }

  /// Writes a list whose items are made one by one.
  template <typename Items, typename Make>
  void list(std::string_view name, const Items& items, Make make) {
    next();
    json_.append(1, '"').append(name).append(layout_ == JsonLayout::kLine ? "\":" : "\": ");
    open('[');
    for (const auto& item : items) {
      next();
      value(make(item));
    }
    close(']');
  }

 private:
  template <typename Value>
  void value(const Value& what) {
    if constexpr (Described<Value>) {
      open('{');
      describe(*this, what);
      close('}');
    } else if constexpr (IsList<Value>::value) {
      open('[');
      for (const auto& item : what) {
        next();
        value(item);
      }
      close(']');
    } else if constexpr (IsMap<Value>::value) {
      open('{');
      for (const auto& [name, item] : what) (*this)(name, item);
      close('}');
    } else if constexpr (IsNullable<Value>::value) {
      what.value ? value(*what.value) : void(json_ += "null");
    } else if constexpr (std::is_same_v<Value, Masked>) {
      value(what.values);
    } else {
      scalar(what);
    }
  }

  template <typename Value>
  void scalar(const Value& what) {
    if constexpr (std::is_same_v<Value, bool>)
      json_ += what ? "true" : "false";
    else if constexpr (std::is_floating_point_v<Value>)
      number(what);
    else if constexpr (std::is_integral_v<Value>)
      number(static_cast<std::int64_t>(what));
    else if constexpr (std::is_same_v<Value, Stack>)
      json_ += json_string(stack_name(what));
    else
      json_ += json_string(what);
  }

  void number(std::int64_t number);
  // Writes the shortest digits that read back as the same number; null for numbers that JSON lacks.
  void number(float number);
  void number(double number);
  void open(char bracket);
  void close(char bracket);
  void next();  // writes the separator between two items
  bool on_lines() const;

  JsonLayout layout_;
  Sink sink_;
  std::string json_;
  std::string open_;  // open brackets
  bool first_ = true;
};

template <Described Answer>
std::string to_json(const Answer& answer) {
  AnswerWriter writer;
  writer.write(answer);
  return writer.text();
}

}  // namespace heed
