// The one exception of heed: what went wrong, as data and as one line of text.
#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// What kind of thing went wrong. The command line maps it to an exit status, Python to an
/// exception type.
enum class ErrorCode {
  kInvalidArgument,  // the caller's values: shapes, types, ranges (exit 2)
  kUnsupported,      // legal, but this build does not serve it (exit 2)
  kNotFound,         // a name or a file that does not exist (exit 2)
  kCorrupt,          // a file whose content is not what its format promises (exit 2)
  kIo,               // the system refused: disk full, permission (exit 1)
  kFailed,           // the work itself failed: a loss that is not a number (exit 1)
  kInterrupted,      // the user asked to stop (exit 130)
};

/// A few words of an error's text, made from text or from a number.
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

/// What an error is made of; whatever does not apply stays empty. Text is lower case and has no
/// full stop, so that it joins to `op: file: place: argument is found, expected expected; hint`.
struct ErrorParts {
  ErrorCode code = ErrorCode::kInvalidArgument;
  Phrase op = {};        // who speaks: "attention", "safetensors"
  Phrase file = {};      // the path of the file that is read or written
  Phrase place = {};     // where in the file: "byte 40", "line 3, column 7"
  Phrase argument = {};  // the field by its path, "k.shape[3]"; in a file, its tensor or member
  Phrase found = {};     // "32"; where no argument is to blame, all that there is to say
  Phrase expected = {};  // "64 (q's)"
  Phrase hint = {};      // a next step: "name a model's folder with --model"
};

/// The line that the parts join to. Without a `found` the argument is not given.
std::string to_string(const ErrorParts& parts);

/// Every failure that heed reports. Text for people is what(); programs read the parts.
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

  /// All of them, for whoever says the same about an argument of another name.
  const ErrorParts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const ErrorParts> parts_;  // shared, so that a copy of an exception cannot throw
};

/// Throws. A check is `if (wrong) fail(...)`, so that no text is made while arguments are right.
[[noreturn]] void fail(ErrorParts parts);

/// Throws kInvalidArgument: the parts in the order in which they are read.
[[noreturn]] void fail(Phrase op, Phrase argument, Phrase found, Phrase expected);

}  // namespace heed
