// The one writer that makes JSON of an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "inspect/answers/fields.h"

namespace heed {

/// kLine: all of it on one line. kLines: for people, each field of the whole on a line of its own,
/// and each item of its lists.
enum class JsonLayout : std::uint8_t { kLine, kLines };

class AnswerWriter {
 public:
  using Sink = std::function<void(std::string_view part)>;

  /// Hands over pieces of some kilobytes; without a sink `text` has the whole.
  explicit AnswerWriter(JsonLayout layout = JsonLayout::kLine, Sink sink = {})
      : layout_(layout), sink_(std::move(sink)) {}

  /// The whole answer.
  template <Described Answer>
  void write(const Answer& answer) {
    value(answer);
    if (layout_ == JsonLayout::kLines) json_ += '\n';
    if (sink_) sink_(json_);
  }
  const std::string& text() const { return json_; }

  /// One field of the object that is being written; called by `describe`.
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

  /// A list whose items are made one by one.
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
      what.describe(*this);
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
    else
      json_ += json_string(what);
  }

  void number(std::int64_t number);
  // The shortest digits that read back as the same number; null for what JSON does not have.
  void number(float number);
  void number(double number);
  void open(char bracket);
  void close(char bracket);
  void next();  // what stands between two items
  bool on_lines() const;

  JsonLayout layout_;
  Sink sink_;
  std::string json_;
  std::string open_;  // brackets
  bool first_ = true;
};

template <Described Answer>
std::string to_json(const Answer& answer) {
  AnswerWriter writer;
  writer.write(answer);
  return writer.text();
}

}  // namespace heed
