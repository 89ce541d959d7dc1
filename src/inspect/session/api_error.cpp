#include "inspect/session/api_error.h"

#include <algorithm>
#include <new>

#include "inspect/answers/json_text.h"

namespace heed::server {
namespace {

ApiError of_code(ErrorCode code, const std::string& message) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kCorrupt:
      return {400, "bad_request", message};
    case ErrorCode::kNotFound:
      return {404, "not_found", message};
    case ErrorCode::kIo:
    case ErrorCode::kFailed:
    case ErrorCode::kInterrupted:
      break;
  }
  return {500, "failed", message};
}

}  // namespace

ApiError api_error(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const Error& error) {
    return of_code(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return {500, "failed", "out of memory"};
  } catch (const std::exception& error) {
    return {500, "failed", error.what()};
  }
}

std::string error_json(const ApiError& error) {
  std::string message = error.message;
  std::ranges::replace(message, '\n', ' ');
  return fmt::format(R"({{"error":{{"code":{},"message":{}}}}})", json_string(error.code),
                     json_string(message));
}

}  // namespace heed::server
