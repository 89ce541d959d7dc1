// What a client did wrong, as one line of JSON with its status.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>

#include "heed/base/error.h"

namespace heed::serve {

/// `code` is for programs, `message` one line for people (docs/api.md lists them).
struct ApiError {
  int status = 500;
  std::string code = {};
  std::string message = {};
  std::string argument = {}, found = {}, expected = {}, hint = {};  // empty where there is none
};

/// Thrown by handlers; the one place that catches turns it into an answer.
class Refused : public std::exception {
 public:
  explicit Refused(ApiError what_is_wrong) : error(std::move(what_is_wrong)) {}
  const char* what() const noexcept override { return error.message.c_str(); }
  const ApiError error;
};

template <typename... Args>
[[noreturn]] void refuse(int status, const char* code, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw Refused({status, code, fmt::format(format, std::forward<Args>(args)...)});
}

/// The exception that is being handled, as the API says it.
ApiError api_error(std::exception_ptr exception);

/// `{"error":{"code":...,"message":...}}`, and argument, found, expected, hint where there are.
std::string error_json(const ApiError& error);

}  // namespace heed::serve
