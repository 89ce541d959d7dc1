// The one exception of heed and the check that throws it.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace heed {

/// What kind of thing went wrong; the command line maps it to an exit status, Python to an
/// exception type.
enum class ErrorCode {
  kInvalidArgument,  // the caller's values: shapes, types, ranges (exit 2)
  kUnsupported,      // legal, but this build does not serve it (exit 2)
  kNotFound,         // a name or a file that does not exist (exit 2)
  kCorrupt,          // a file whose content is not what its format promises (exit 2)
  kIo,               // the system refused: disk full, permission (exit 1)
  kFailed,  // the work itself failed: a loss that is not a number, a check that does not hold (exit
            // 1)
  kInterrupted,  // the user asked to stop (exit 130)
};

/// Every failure that heed reports. The text reads `op: what was found, what was expected`; a line
/// `hint: ...` may follow.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Checks at the border: throws kInvalidArgument with the formatted message unless `condition`
/// holds.
template <typename... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

}  // namespace heed
