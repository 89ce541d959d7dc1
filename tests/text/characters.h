// Offsets of tokens in whole characters, as `tokenizers` gives them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "heed/tokenizer.h"

namespace heed::test {

/// The span, widened to whole characters.
inline std::pair<std::int64_t, std::int64_t> whole_characters(const std::string& text,
                                                              TokenSpan span) {
  const auto inside = [&](std::int64_t i) {
    return i < std::ssize(text) &&
           (static_cast<unsigned char>(text[static_cast<std::size_t>(i)]) & 0xC0) == 0x80;
  };
  while (inside(span.begin)) --span.begin;
  while (inside(span.end)) ++span.end;
  return {span.begin, span.end};
}

}  // namespace heed::test
