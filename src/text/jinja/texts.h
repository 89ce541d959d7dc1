// What Python's methods of str do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::jinja {

enum class Side : std::uint8_t { kLeft, kRight, kBoth };

/// Without the characters of `chars` at its ends; none: white space.
std::string stripped(std::string_view text, const std::optional<std::string>& chars, Side side);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// The first character in upper case and the others in lower case.
std::string capitalized(std::string_view text);
/// As `str.title`: each first letter of a run of letters is in upper case.
std::string titled(std::string_view text);
/// As Jinja's filter `title`: words begin behind white space, "-" and opening brackets.
std::string titled_words(std::string_view text);
/// The first `count` places; below 0: all.
std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::int64_t count);
/// At each `separator`, or at white space where it is empty; `most` cuts, below 0: any number.
std::vector<std::string> split(std::string_view text, std::string_view separator, std::int64_t most,
                               bool from_right);
std::vector<std::string> lines_of(std::string_view text);
std::vector<std::string> characters_of(std::string_view text);
bool is_python_space(char32_t code);

}  // namespace heed::jinja
