#include "cli/options/text_input.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/number_of.h"
#include "base/reworded.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/text/tokenizer.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

std::string read_stdin(std::size_t most_bytes) {
  std::string text;
  char buffer[1 << 16];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0) {
    text.append(buffer, count);
    if (text.size() > most_bytes)
      fail({.file = "standard input",
            .found = fmt::format("has more than {} MiB", most_bytes >> 20),
            .expected = "a text of at most that"});
  }
  if (std::ferror(stdin) != 0)
    fail({.code = ErrorCode::kIo, .file = "standard input", .found = std::strerror(errno)});
  return text;
}

}  // namespace

std::string read_text(const std::string& path, std::size_t most_bytes) {
  if (path == "-") return read_stdin(most_bytes);
  return reworded([&] { return read_file(path, static_cast<std::int64_t>(most_bytes)); },
                  [&](ErrorParts& parts) {
                    const std::string found = parts.found.text();
                    if (parts.code == ErrorCode::kUnsupported) return;
                    if (parts.code == ErrorCode::kCorrupt) parts.found = "is " + found;
                    if (const auto reason = found.find(": "); reason != std::string::npos)
                      parts.found = "cannot be read" + found.substr(reason);
                    parts.expected = "a text file";
                    parts.code = ErrorCode::kInvalidArgument;
                  });
}

std::string given_text(const std::string& text, const std::string& file) {
  if (!file.empty()) return read_text(file);
  return text == "-" ? read_text(text) : text;
}

void tell_of_lost_text(std::string_view command, std::string_view name, const Tokenizer& tokenizer,
                       std::string_view text, const Encoding& encoding) {
  tell_of_dropped_letters(command, name, text, encoding.spans);
  const TokenId unknown = tokenizer.unknown_token();
  const auto count = std::ranges::count(encoding.ids, unknown);
  const bool knows_one = std::ranges::any_of(
      encoding.ids, [&](TokenId id) { return id != unknown && !tokenizer.is_special(id); });
  if (unknown < 0 || count == 0 || knows_one) return;
  tell("heed {}: no token of the {} is in the vocabulary ({} of {} {} {})\n", command, name, count,
       number_of(count, "token"), count == 1 ? "is" : "are", displayable(tokenizer.piece(unknown)));
}

bool tell_of_dropped_letters(std::string_view command, std::string_view name, std::string_view text,
                             std::span<const TokenSpan> spans) {
  constexpr std::uint8_t kDroppedOnPurpose = kSpace | kMark | kHidden;
  std::vector<bool> has_token(text.size());
  for (const TokenSpan& span : spans)
    std::fill(has_token.begin() + span.begin, has_token.begin() + span.end, true);
  std::vector<std::string_view> dropped;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) {
    const auto [code, bytes] = character_at(text, at);
    if (!has_token[at] && (traits_of(code) & kDroppedOnPurpose) == 0)
      dropped.push_back(text.substr(at, bytes));
  }
  if (dropped.empty()) return false;
  const std::size_t shown = std::min<std::size_t>(dropped.size(), 5);
  tell("heed {}: the tokenizer drops {} of the {}: {}{}\n", command,
       number_of(dropped.size(), "character"), name,
       fmt::join(std::span(dropped).first(shown), " "), shown < dropped.size() ? " ..." : "");
  return true;
}

void tell_of_lost_tokenizer(std::string_view command, const LoadedModel& model) {
  if (!model.tokenizer_error.empty())
    tell("heed {}: without its tokenizer: {}\n", command, displayable(model.tokenizer_error));
}

std::string readable(std::string_view bytes) {
  return find_invalid_utf8(bytes) < 0 ? std::string(bytes) : displayable(bytes);
}

std::string hexadecimal(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

}  // namespace heed::cli
