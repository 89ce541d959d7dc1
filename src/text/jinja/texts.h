// Equivalents of Python's methods of str.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::jinja {

enum class Side : std::uint8_t { kLeft, kRight, kBoth };

/// Removes the characters of `chars` from both ends; none: white space.
std::string stripped(std::string_view text, const std::optional<std::string>& chars, Side side);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// First character in upper case, the others in lower case.
std::string capitalized(std::string_view text);
/// Like `str.title`: the first letter of each run of letters is in upper case.
std::string titled(std::string_view text);
/// Like Jinja's filter `title`: words begin after white space, "-" and opening brackets.
std::string titled_words(std::string_view text);
/// Replaces the first `count` occurrences; negative: all.
std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::int64_t count);
/// Splits at each `separator`, or at white space if it is empty; at most `most` times, negative: no
/// limit.
std::vector<std::string> split(std::string_view text, std::string_view separator, std::int64_t most,
                               bool from_right);
std::vector<std::string> lines_of(std::string_view text);
std::vector<std::string> characters_of(std::string_view text);
bool is_python_space(char32_t code);

}  // namespace heed::jinja
