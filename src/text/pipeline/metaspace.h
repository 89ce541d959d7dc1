// `Metaspace`: a visible mark for spaces, which is a pre-tokeniser and a decoder.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_file.h"
#include "text/utf8.h"

namespace heed {

struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };  // a mark in front: of each stretch, of the text
  std::string mark = std::string(kSpaceMark);
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Of a component that messages call `of`.
Metaspace read_metaspace(const TokenizerFile& file, const Json& component, std::string_view of);

}  // namespace heed
