// Splits a text before the model sees it: tokens never cross these borders.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"
#include "text/utf8.h"

namespace heed {

/// Appends the parts of `piece`, all nonempty.
using PreTokenizer = std::function<void(const Piece& piece, Arena& arena, std::vector<Piece>& out)>;

/// Reads the component `pre_tokenizer` of a file, or a part of it; empty if there is none.
PreTokenizer read_pre_tokenizer(const TokenizerFile& file, const Json& component);

/// `Metaspace`: a visible mark for spaces, as pre-tokeniser and decoder.
struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };  // a mark before each part, or before the text
  std::string mark = std::string(kSpaceMark);
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Reads a component that messages call `of`.
Metaspace read_metaspace(const TokenizerFile& file, const Json& component, std::string_view of);

}  // namespace heed
