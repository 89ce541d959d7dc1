#include "serve/api_error.h"

#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"

namespace heed::serve {
namespace {

int status_of(const std::string& code) {
  if (code == "bad_request") return 400;
  return code == "not_found" ? 404 : 500;
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

struct Failure {
  static constexpr const char* kName = "Failure";
  ErrorAnswer error;
  template <typename Fields>
  void describe(Fields& field) const {
    field("error", error);
  }
};

}  // namespace

ApiError api_error(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Refused& refused) {
    return refused.error;
  } catch (...) {
    const ErrorAnswer error = answer_error(std::current_exception());
    return {.status = status_of(error.code),
            .code = error.code,
            .message = error.message,
            .argument = error.argument.value_or(""),
            .found = error.found.value_or(""),
            .expected = error.expected.value_or(""),
            .hint = error.hint.value_or("")};
  }
}

std::string error_json(const ApiError& error) {
  return to_json(Failure{{.code = error.code,
                          .message = one_line(error.message),
                          .argument = given(error.argument),
                          .found = given(error.found),
                          .expected = given(error.expected),
                          .hint = given(error.hint)}});
}

}  // namespace heed::serve
