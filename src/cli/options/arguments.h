// The arguments of a command: read strictly, refused in one line that names the option, what was
// found and what was expected.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace heed::cli {

/// Parses and runs the callbacks. Throws heed::Error; CLI::CallForHelp for --help. An option whose
/// value is not a text (type name TEXT) may not be empty.
void read_arguments(CLI::App& app, std::vector<std::string> arguments);

/// Refuses an option that was given and changes nothing: "--width needs --format svg or png beside
/// it". Of two options CLI::Option::needs says the same.
void require_beside(const CLI::App& app, const std::string& option, bool has_effect,
                    std::string_view needed);

/// False unless the whole text is one decimal number that the type can hold.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last;
}

/// The help of CLI11 in lines of at most 100 characters, descriptions below descriptions.
std::string wrapped_help(const std::string& help);

/// `a whole number from 1 to 8`. A limit that is the type's own is said only to who has passed it.
template <std::integral Number>
std::string whole_number(std::string_view found, Number least, Number most) {
  using Limits = std::numeric_limits<Number>;
  Number number = 0;
  const char* const last = found.data() + found.size();
  const auto [end, error] = std::from_chars(found.data(), last, number);
  const bool is_beyond = error == std::errc::result_out_of_range && end == last;
  const bool is_negative = found.starts_with('-');
  const bool says_least = least == 0 || least != Limits::min() || (is_beyond && is_negative);
  const bool says_most = most != Limits::max() || (is_beyond && !is_negative);
  std::string expected = "a whole number";
  if (says_least) expected += fmt::format(" from {}", least);
  if (says_most) expected += fmt::format("{} {}", says_least ? " to" : " of at most", most);
  return expected;
}

/// For CLI::Option::transform: a whole number in decimal digits, as CLI11 reads it without surprise
/// (alone it takes 010 as 8 and -1 as 2^64 - 1).
template <std::integral Number>
CLI::Validator number_of(Number least = std::numeric_limits<Number>::min(),
                         Number most = std::numeric_limits<Number>::max()) {
  return {[least, most](std::string& text) -> std::string {
            Number number = 0;
            if (!read_number(text, number) || number < least || number > most)
              return fmt::format("found \"{}\", expected {}", text,
                                 whole_number(text, least, most));
            text = fmt::format("{}", number);
            return {};
          },
          ""};
}

template <std::floating_point Number>
CLI::Validator number_of() {
  return {[](std::string& text) -> std::string {
            Number number = 0;
            if (!read_number(text, number))
              return fmt::format("found \"{}\", expected a number", text);
            return {};
          },
          ""};
}

template <typename Value>
struct NumberIn {
  using Type = Value;
};
template <typename Value>
  requires requires { typename Value::value_type; }
struct NumberIn<Value> {  // std::optional, std::vector
  using Type = typename Value::value_type;
};

/// Declares an option whose value is a number, an optional one or a list of them.
template <typename Value>
CLI::Option* add_number(CLI::App& app, const std::string& names, Value& value,
                        const std::string& help) {
  return app.add_option(names, value, help)->transform(number_of<typename NumberIn<Value>::Type>());
}

/// For CLI::Option::check: one of these words.
CLI::Validator one_of(std::initializer_list<const char*> words);

}  // namespace heed::cli
