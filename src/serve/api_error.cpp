#include "serve/api_error.h"

#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"

namespace heed::serve {
namespace {

int status_of(const std::string& code) {
  if (code == "bad_request") return 400;
  return code == "not_found" ? 404 : 500;
}

struct Failure {
  ApiErrorAnswer error;
  void describe(auto& field) const { field("error", error); }
};

}  // namespace

void refuse(int status, const char* code, ErrorParts parts) {
  throw Refused(status, code, std::move(parts));
}

void refuse_parameter(Phrase name, Phrase found, Phrase expected) {
  refuse(400, "bad_request",
         {.argument = std::move(name), .found = std::move(found), .expected = std::move(expected)});
}

ApiError api_error(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Refused& refused) {
    ApiError error{refused.status, answer_error(std::current_exception())};
    error.answer.code = refused.code_for_programs;
    return error;
  } catch (...) {
    ApiErrorAnswer answer = answer_error(std::current_exception());
    return {status_of(answer.code), std::move(answer)};
  }
}

std::string error_json(const ApiError& error) { return to_json(Failure{error.answer}); }

}  // namespace heed::serve
