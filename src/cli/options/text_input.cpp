#include "cli/options/text_input.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/wording.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
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

// Windows programs begin UTF-8 files with a byte-order mark.
std::string without_mark(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

bool is_name(const std::string& text) {
  return !text.empty() && text.find_first_of(" \n") == std::string::npos;
}

}  // namespace

std::string read_text(const std::string& path, std::size_t most_bytes) {
  if (path == "-") return without_mark(read_stdin(most_bytes));
  return reworded(
      [&] { return without_mark(read_file(path, static_cast<std::int64_t>(most_bytes))); },
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
  std::error_code ignored;
  if (is_name(text) && std::filesystem::is_regular_file(text, ignored))
    tell("heed: {} is read as a text; --file {} reads the file of this name\n", text, text);
  return text == "-" ? read_text(text) : text;
}

namespace {

// `a b c d e ...`: the first five.
std::string listed(std::span<const std::string_view> pieces) {
  const std::size_t shown = std::min<std::size_t>(pieces.size(), 5);
  return fmt::format("{}{}", joined(pieces.first(shown), " "), shown < pieces.size() ? " ..." : "");
}

// Normalisers drop other characters on purpose.
bool should_have_token(char32_t code) {
  return (traits_of(code) & (kSpace | kMark | kHidden)) == 0;
}

// The characters whose bytes become separate tokens.
std::vector<std::string_view> cut_characters(std::string_view text, const Tokenizer& tokenizer,
                                             const Encoding& encoding) {
  std::vector<std::string_view> cut;
  std::size_t at = 0;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const auto begin = static_cast<std::size_t>(encoding.spans[i].begin);
    const auto end = static_cast<std::size_t>(encoding.spans[i].end);
    while (at < text.size() && at + character_at(text, at).bytes <= begin)
      at += character_at(text, at).bytes;
    if (at == text.size() || find_invalid_utf8(tokenizer.token_bytes(encoding.ids[i])) < 0)
      continue;
    const auto [code, bytes] = character_at(text, at);
    const bool is_new = cut.empty() || cut.back().data() != text.data() + at;
    if (is_new && end <= at + bytes && should_have_token(code))
      cut.push_back(text.substr(at, bytes));
  }
  return cut;
}

void tell_of_unknown(std::string_view command, std::string_view name, const Tokenizer& tokenizer,
                     std::string_view text, const Encoding& encoding) {
  const TokenId unknown = tokenizer.unknown_token();
  std::vector<std::string_view> lost;
  bool knows_one = false;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const TokenSpan span = encoding.spans[i];
    const auto begin = static_cast<std::size_t>(span.begin);
    if (encoding.ids[i] == unknown)
      lost.push_back(text.substr(begin, static_cast<std::size_t>(span.end) - begin));
    else
      knows_one |= !tokenizer.is_special(encoding.ids[i]);
  }
  if (unknown < 0 || lost.empty()) return;
  const std::string count =
      fmt::format("{} of {}", lost.size(), number_of(encoding.ids.size(), "token"));
  const char* const verb = lost.size() == 1 ? "is" : "are";
  const std::string piece = displayable(tokenizer.piece(unknown));
  if (knows_one)
    tell("heed {}: {} of the {} {} {}: {}\n", command, count, name, verb, piece, listed(lost));
  else
    tell("heed {}: no token of the {} is in the vocabulary ({} {} {})\n", command, name, count,
         verb, piece);
}

}  // namespace

void tell_of_lost_text(std::string_view command, std::string_view name, const Tokenizer& tokenizer,
                       std::string_view text, const Encoding& encoding) {
  tell_of_dropped_letters(command, name, text, encoding.spans);
  if (const auto cut = cut_characters(text, tokenizer, encoding); !cut.empty())
    tell("heed {}: the tokenizer cuts {} of the {} into bytes: {}\n", command,
         number_of(cut.size(), "character"), name, listed(cut));
  tell_of_unknown(command, name, tokenizer, text, encoding);
}

bool tell_of_dropped_letters(std::string_view command, std::string_view name, std::string_view text,
                             std::span<const TokenSpan> spans) {
  std::vector<bool> has_token(text.size());
  for (const TokenSpan& span : spans)
    std::fill(has_token.begin() + span.begin, has_token.begin() + span.end, true);
  std::vector<std::string_view> dropped;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) {
    const auto [code, bytes] = character_at(text, at);
    if (!has_token[at] && should_have_token(code)) dropped.push_back(text.substr(at, bytes));
  }
  if (dropped.empty()) return false;
  tell("heed {}: the tokenizer drops {} of the {}: {}\n", command,
       number_of(dropped.size(), "character"), name, listed(dropped));
  return true;
}

void tell_of_lost_tokenizer(std::string_view command, const LoadedModel& model) {
  if (!model.tokenizer_error.empty())
    tell("heed {}: without its tokenizer: {}\n", command, displayable(model.tokenizer_error));
}

WrittenChat chat_of(std::string_view command, const LoadedModel& model,
                    const std::optional<std::string>& system, const std::string& message) {
  std::vector<ChatMessage> messages;
  if (system) messages.push_back({"system", *system});
  messages.push_back({"user", message});
  WrittenChat chat;
  chat.text = chat_text(model, messages);
  chat.encoding = encode_chat(model, chat.text);
  std::vector<std::string> special;
  for (const TokenId id : chat.encoding.ids)
    if (model.tokenizer->is_special(id)) special.push_back(displayable(model.tokenizer->piece(id)));
  if (special.empty())
    tell("heed {}: the chat template added no special token\n", command);
  else
    tell("heed {}: special tokens of the chat: {}\n", command, joined(special, " "));
  return chat;
}

}  // namespace heed::cli
