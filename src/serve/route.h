// Matches a request's path with the table of routes, and reads its parameters as numbers. A
// client's error is one line of JSON with its status.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "inspect/answers/models.h"

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

/// Values of the pattern's `{name}`, by name.
using PathValues = std::map<std::string, std::string, std::less<>>;

/// Matches "/api/v1/sessions/{id}" with "/api/v1/sessions/5e1c"; empty if they differ.
std::optional<PathValues> match_path(std::string_view pattern, std::string_view path);

/// How many bytes of a client's name or value a message shows.
inline constexpr std::size_t kMostShown = 40;

/// Throws bad_request for a parameter that is not in `known`, names separated by spaces, or that is
/// repeated.
void check_names(const httplib::Request& request, std::string_view known);

/// The parameters of a request; every method throws bad_request that names the parameter.
class Parameters {
 public:
  Parameters(const httplib::Request& request, PathValues path)
      : request_(request), path_(std::move(path)) {}

  const std::string& path(std::string_view name) const { return path_.find(name)->second; }
  std::string path(std::string_view name, std::string_view otherwise) const {
    const auto found = path_.find(name);
    return found == path_.end() ? std::string(otherwise) : found->second;
  }
  std::int64_t path_number(std::string_view name) const;
  std::string text(const char* name, const std::string& otherwise) const;
  /// The same for one that must be given; `expected` says what it holds.
  std::string required(const char* name, const char* expected) const;
  /// From `least` to `most`; `otherwise` if not given.
  std::int64_t number(const char* name, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most) const;
  double fraction(const char* name, double otherwise) const;
  /// "6,3"; at least one.
  std::vector<std::int64_t> numbers(const char* name, std::size_t most) const;
  /// The index of the value among `choices`; the first if not given.
  std::size_t choice(const char* name, const std::vector<std::string>& choices) const;

  const httplib::Request& request() const { return request_; }

 private:
  const httplib::Request& request_;
  PathValues path_;
};

}  // namespace heed::serve
