#include "cli/terminal/error_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/interrupt.h"

namespace heed::cli {

int exit_status(ErrorCode code) {
  constexpr int kWorkFailed = 1;
  constexpr int kBadInput = 2;
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
      return kBadInput;
    case ErrorCode::kInterrupted:
      return kInterruptedStatus;
    case ErrorCode::kIo:
    case ErrorCode::kFailed:
      break;
  }
  return kWorkFailed;
}

std::string error_line(std::string_view command, std::string message) {
  std::ranges::replace(message, '\n', ' ');
  return fmt::format("heed{}{}: {}", command.empty() ? "" : " ", command, message);
}

}  // namespace heed::cli
