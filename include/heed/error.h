// The one exception of heed: what went wrong, as data and as one line of text.
#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// What kind of error it is. The command line maps it to an exit status, Python to an exception
/// type.
enum class ErrorCode {
  kInvalidArgument,  // invalid values from the caller: shapes, types, ranges (exit 2)
  kUnsupported,      // legal, but not supported by this build (exit 2)
  kNotFound,         // a name or a file that does not exist (exit 2)
  kCorrupt,          // a file whose content does not follow its format (exit 2)
  kIo,               // the operating system refused: disk full, permission (exit 1)
  kFailed,           // the work itself failed: a loss that is not finite (exit 1)
  kInterrupted,      // the user asked to stop (exit 130)
};

/// One part of an error's text, made from text or a number.
class Phrase {
 public:
  Phrase() = default;
  Phrase(std::string text) : text_(std::move(text)) {}
  Phrase(std::string_view text) : text_(text) {}
  Phrase(const char* text) : text_(text) {}
  Phrase(float number);
  Phrase(double number);
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  Phrase(T number) : text_(std::to_string(number)) {}

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The parts of an error; a part that does not apply is empty. Text is lower case without a full
/// stop, because it is joined to `op: file: place: argument is found, expected expected; hint`.
struct ErrorParts {
  ErrorCode code = ErrorCode::kInvalidArgument;
  Phrase op = {};        // the reporter: "attention", "safetensors"
  Phrase file = {};      // the path of the file that is read or written
  Phrase place = {};     // where in the file: "byte 40", "line 3, column 7"
  Phrase argument = {};  // the field's path, "k.shape[3]"; in a file, its tensor or member
  Phrase found = {};     // "32"; without an argument, the whole complaint
  Phrase expected = {};  // "64 (q's)"
  Phrase hint = {};      // a next step: "name a model's folder with --model"
};

/// Joins the parts to one line. Without `found` the line says that the argument is not given.
std::string to_string(const ErrorParts& parts);

/// Every failure that heed reports. what() is for people; programs read the parts.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorParts parts);

  ErrorCode code() const { return parts_->code; }
  const std::string& op() const { return parts_->op.text(); }
  const std::string& file() const { return parts_->file.text(); }
  const std::string& place() const { return parts_->place.text(); }
  const std::string& argument() const { return parts_->argument.text(); }
  const std::string& found() const { return parts_->found.text(); }
  const std::string& expected() const { return parts_->expected.text(); }
  const std::string& hint() const { return parts_->hint.text(); }

  /// All parts, for callers that report the same failure under another argument name.
  const ErrorParts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const ErrorParts> parts_;  // shared, so that a copy of an exception cannot throw
};

/// Throws. Use it as `if (wrong) fail(...)`: the text is then only made on failure.
[[noreturn]] void fail(ErrorParts parts);

/// The same; the parts are in reading order.
[[noreturn]] void fail(Phrase op, Phrase argument, Phrase found, Phrase expected,
                       ErrorCode code = ErrorCode::kInvalidArgument);

}  // namespace heed
