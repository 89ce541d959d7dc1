// Texts in and out of the command line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heed/models/registry.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {

/// More than any model reads at once: a device that never ends is refused there.
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

/// The whole of a file, or of stdin for "-". Throws for a folder, for a file that cannot be read,
/// and for more than `most_bytes`.
std::string read_text(const std::string& path, std::size_t most_bytes = kMostTextBytes);

/// The content of `file` where one is given; else `text`, or stdin where that is "-".
std::string given_text(const std::string& text, const std::string& file);

/// Says on stderr what the tokenizer loses of a text: characters without a token, characters that
/// it cuts into bytes, and words that are not in the vocabulary ("heed look: 1 of 4 tokens of the
/// text is <unk>: cat"). `name` of the text: "text", "prompt". `encoding` has no special tokens.
void tell_of_lost_text(std::string_view command, std::string_view name, const Tokenizer& tokenizer,
                       std::string_view text, const Encoding& encoding);

/// Says on stderr which letters of the text have no token; false where every letter has one. White
/// space, marks and controls do not count: normalisers drop them on purpose.
bool tell_of_dropped_letters(std::string_view command, std::string_view name, std::string_view text,
                             std::span<const TokenSpan> spans);

/// Says on stderr why tokens are shown as ids, where the tokenizer could not be read.
void tell_of_lost_tokenizer(std::string_view command, const LoadedModel& model);

struct WrittenChat {
  std::string text;
  Encoding encoding;
};

/// A chat with one message, and on stderr the special tokens that it has.
WrittenChat chat_of(std::string_view command, const LoadedModel& model,
                    const std::optional<std::string>& system, const std::string& message);

/// A token's bytes where they are valid UTF-8, else with <0xE3> forms: what JSON can hold.
std::string readable(std::string_view bytes);

/// `e381` for two bytes.
std::string hexadecimal(std::string_view bytes);

}  // namespace heed::cli
