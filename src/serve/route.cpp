#include "serve/route.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/wording.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/questions.h"

namespace heed::serve {
namespace {

std::optional<std::int64_t> number_of_text(std::string_view text) {
  std::int64_t number = 0;
  return read_number(text, number) ? std::optional(number) : std::nullopt;
}

// A client's text, shortened and escaped for one line.
std::string found(std::string_view text) { return json_string(clipped(text, kMostShown)); }

std::string_view next_part(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

}  // namespace

std::optional<PathValues> match_path(std::string_view pattern, std::string_view path) {
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return {};
  PathValues values;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = next_part(pattern);
    const std::string_view given = next_part(path);
    if (wanted.starts_with('{')) {
      if (given.empty()) return {};
      values.emplace(wanted.substr(1, wanted.size() - 2), given);
    } else if (wanted != given) {
      return {};
    }
  }
  return values;
}

void check_names(const httplib::Request& request, std::string_view known) {
  std::vector<std::string_view> names;
  for (std::string_view left = known; !left.empty();) {
    names.push_back(left.substr(0, left.find(' ')));
    left.remove_prefix(std::min(left.size(), names.back().size() + 1));
  }
  for (const auto& [name, value] : request.params) {
    if (request.params.count(name) > 1)
      refuse_parameter(clipped(name, kMostShown), "given twice", "once");
    if (std::ranges::find(names, name) == names.end())
      refuse_parameter(clipped(name, kMostShown), found(value),
                       names.empty() ? "none: this path takes no parameters"
                                     : fmt::format("one of {}", joined(names, ", ")));
  }
}

std::int64_t Parameters::path_number(std::string_view name) const {
  const auto number = number_of_text(path(name));
  if (!number) refuse_parameter(name, found(path(name)), "a number");
  return *number;
}

std::string Parameters::text(const char* name, const std::string& otherwise) const {
  return request_.has_param(name) ? request_.get_param_value(name) : otherwise;
}

std::string Parameters::required(const char* name, const char* expected) const {
  if (!request_.has_param(name)) refuse_parameter(name, "missing", expected);
  return request_.get_param_value(name);
}

std::int64_t Parameters::number(const char* name, std::int64_t otherwise, std::int64_t least,
                                std::int64_t most) const {
  if (!request_.has_param(name)) return otherwise;
  const std::string text = request_.get_param_value(name);
  const auto number = number_of_text(text);
  if (!number || *number < least || *number > most)
    refuse_parameter(name, found(text), fmt::format("a number from {} to {}", least, most));
  return *number;
}

double Parameters::fraction(const char* name, double otherwise) const {
  if (!request_.has_param(name)) return otherwise;
  const std::string text = request_.get_param_value(name);
  double number = 0;
  if (!read_number(text, number) || !(number >= 0 && number <= 1))
    refuse_parameter(name, found(text), "a number from 0 to 1");
  return number;
}

std::vector<std::int64_t> Parameters::numbers(const char* name, std::size_t most) const {
  const std::string text = request_.get_param_value(name);
  std::vector<std::int64_t> numbers;
  std::string_view left = text;
  while (numbers.size() <= most) {
    const std::string_view part = left.substr(0, left.find(','));
    const auto number = number_of_text(part);
    if (!number) refuse_parameter(name, found(text), "numbers with commas between");
    numbers.push_back(*number);
    if (part.size() == left.size()) break;
    left.remove_prefix(part.size() + 1);
  }
  if (numbers.size() > most)
    refuse_parameter(name, "a longer list", fmt::format("at most {} numbers", most));
  return numbers;
}

std::size_t Parameters::choice(const char* name, const std::vector<std::string>& choices) const {
  if (!request_.has_param(name)) return 0;
  const std::string text = request_.get_param_value(name);
  const auto place = std::ranges::find(choices, text);
  if (place == choices.end())
    refuse_parameter(name, found(text), fmt::format("one of {}", joined(choices, ", ")));
  return static_cast<std::size_t>(place - choices.begin());
}

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
