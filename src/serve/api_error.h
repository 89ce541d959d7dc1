// A client's error, as one line of JSON with its status.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "heed/error.h"
#include "inspect/answers/session.h"

namespace heed::serve {

struct ApiError {
  int status = 500;
  ApiErrorAnswer answer = {};
};

/// Thrown by handlers with the status and code of the answer (docs/api.md lists them); a single
/// place catches it and makes the answer.
class Refused : public Error {
 public:
  Refused(int http_status, std::string api_code, ErrorParts parts)
      : Error(std::move(parts)), status(http_status), code_for_programs(std::move(api_code)) {}
  const int status;
  const std::string code_for_programs;
};

[[noreturn]] void refuse(int status, const char* code, ErrorParts parts);
/// 400, bad_request; the parts are in reading order.
[[noreturn]] void refuse_parameter(Phrase name, Phrase found, Phrase expected);

/// Converts the exception being handled to an API error.
ApiError api_error(std::exception_ptr exception);

/// `{"error":{"code":...,"message":...}}`, with argument, found, expected and hint if known.
std::string error_json(const ApiError& error);

}  // namespace heed::serve
