// Texts in and out of the command line.
#pragma once

#include <string>
#include <string_view>

namespace heed::cli {

/// The whole of a file, or of stdin for "-".
std::string read_text(const std::string& path);

/// A token's bytes where they are valid UTF-8, else with <0xE3> forms: what JSON can hold.
std::string readable(std::string_view bytes);

/// `e381` for two bytes.
std::string hexadecimal(std::string_view bytes);

}  // namespace heed::cli
