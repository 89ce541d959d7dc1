#include "cli/options/text_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/number_of.h"
#include "heed/base/error.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string read_text(const std::string& path, std::size_t most_bytes) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const std::unique_ptr<std::FILE, Close> file(standard ? nullptr
                                                        : std::fopen(path.c_str(), "rbe"));
  const int reason = errno;
  if (!standard && !file)
    fail({.file = name,
          .found = fmt::format("cannot be read: {}", std::strerror(reason)),
          .expected = "a text file"});
  if (!standard && std::filesystem::is_directory(path))
    fail({.file = name, .found = "is a folder", .expected = "a text file"});
  std::FILE* const from = standard ? stdin : file.get();
  std::string text;
  char buffer[1 << 16];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, from)) > 0) {
    text.append(buffer, count);
    if (text.size() > most_bytes)
      fail({.file = name,
            .found = fmt::format("has more than {} MiB", most_bytes >> 20),
            .expected = "a text of at most that"});
  }
  if (std::ferror(from) != 0)
    fail({.code = ErrorCode::kIo, .file = name, .found = std::strerror(errno)});
  return text;
}

std::string given_text(const std::string& text, const std::string& file) {
  if (!file.empty()) return read_text(file);
  return text == "-" ? read_text(text) : text;
}

void tell_of_unknown_text(std::string_view command, std::string_view text,
                          const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  const TokenId unknown = tokenizer.unknown_token();
  const auto count = std::ranges::count(ids, unknown);
  const bool knows_one = std::ranges::any_of(
      ids, [&](TokenId id) { return id != unknown && !tokenizer.is_special(id); });
  if (unknown < 0 || count == 0 || knows_one) return;
  fmt::print(stderr, "heed {}: no token of the {} is in the vocabulary ({} of {} {} {})\n", command,
             text, count, number_of(count, "token"), count == 1 ? "is" : "are",
             displayable(tokenizer.piece(unknown)));
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
