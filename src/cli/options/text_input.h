// Input and output texts of the command line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heed/model.h"
#include "heed/tokenizer.h"

namespace heed::cli {

/// More than any model reads: stops endless devices.
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

/// The help of --ids.
inline constexpr const char* kIdsHelp =
    "token ids instead of a text (heed tokenize prints them, with --special also those that the "
    "model puts around a text, as <s>)";

/// The whole content of a file, or of stdin for "-". Throws for a folder, an unreadable file, and
/// more than `most_bytes`.
std::string read_text(const std::string& path, std::size_t most_bytes = kMostTextBytes);

/// The content of `file` if given; else `text`, or stdin if that is "-". Reports on stderr a text
/// that is the name of a file.
std::string given_text(const std::string& text, const std::string& file);

/// Reports on stderr what the tokenizer loses of a text: characters without a token, characters
/// split into bytes, and words not in the vocabulary ("heed look: 1 of 4 tokens of the text is
/// <unk>: cat"). `name` is the text's: "text", "prompt". `encoding` must have no special tokens.
void tell_of_lost_text(std::string_view command, std::string_view name, const Tokenizer& tokenizer,
                       std::string_view text, const Encoding& encoding);

/// Reports on stderr which letters of the text have no token; false if every letter has one. White
/// space, marks and controls are ignored, because normalisers drop them on purpose.
bool tell_of_dropped_letters(std::string_view command, std::string_view name, std::string_view text,
                             std::span<const TokenSpan> spans);

/// Reports on stderr why tokens are shown as ids, if the tokenizer could not be read.
void tell_of_lost_tokenizer(std::string_view command, const LoadedModel& model);

struct WrittenChat {
  std::string text;
  Encoding encoding;
};

/// A chat with one message; reports its special tokens on stderr.
WrittenChat chat_of(std::string_view command, const LoadedModel& model,
                    const std::optional<std::string>& system, const std::string& message);

}  // namespace heed::cli
