// What a client did wrong, as one line of JSON with its status.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "heed/error.h"
#include "inspect/answers/session.h"

namespace heed::serve {

struct ApiError {
  int status = 500;
  ErrorAnswer answer = {};
};

/// Thrown by handlers with the status and the code of the answer (docs/api.md lists them); the one
/// place that catches makes the answer.
class Refused : public Error {
 public:
  Refused(int http_status, std::string api_code, ErrorParts parts)
      : Error(std::move(parts)), status(http_status), code_for_programs(std::move(api_code)) {}
  const int status;
  const std::string code_for_programs;
};

[[noreturn]] void refuse(int status, const char* code, ErrorParts parts);

/// The exception that is being handled, as the API says it.
ApiError api_error(std::exception_ptr exception);

/// `{"error":{"code":...,"message":...}}`, and argument, found, expected, hint where they are
/// known.
std::string error_json(const ApiError& error);

}  // namespace heed::serve
