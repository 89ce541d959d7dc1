#include "cli/text_input.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {

std::string read_text(const std::string& path) {
  if (path != "-") return read_file(path);
  std::string text;
  char buffer[1 << 16];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0) text.append(buffer, count);
  if (std::ferror(stdin) != 0) fail(ErrorCode::kIo, "standard input: {}", std::strerror(errno));
  return text;
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
