#include "heed/error.h"

#include <fmt/format.h>

#include <cmath>

namespace heed {
namespace {

// "q is 3", "q is not given", or `found` alone.
std::string statement(const ErrorParts& parts) {
  if (parts.argument.empty()) return parts.found.text();
  return parts.argument.text() + " is " + (parts.found.empty() ? "not given" : parts.found.text());
}

}  // namespace

// Omits the sign of NaN, which means nothing.
Phrase::Phrase(float number) : text_(std::isnan(number) ? "nan" : fmt::to_string(number)) {}
Phrase::Phrase(double number) : text_(std::isnan(number) ? "nan" : fmt::to_string(number)) {}

std::string to_string(const ErrorParts& parts) {
  std::string line;
  for (const Phrase* part : {&parts.op, &parts.file, &parts.place})
    if (!part->empty()) line += part->text() + ": ";
  line += statement(parts);
  if (!parts.expected.empty()) line += ", expected " + parts.expected.text();
  if (!parts.hint.empty()) line += "; " + parts.hint.text();
  return line;
}

Error::Error(ErrorParts parts)
    : std::runtime_error(to_string(parts)),
      parts_(std::make_shared<const ErrorParts>(std::move(parts))) {}

void fail(ErrorParts parts) { throw Error(std::move(parts)); }

void fail(Phrase op, Phrase argument, Phrase found, Phrase expected, ErrorCode code) {
  fail({.code = code,
        .op = std::move(op),
        .argument = std::move(argument),
        .found = std::move(found),
        .expected = std::move(expected)});
}

}  // namespace heed
