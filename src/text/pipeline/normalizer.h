// Changes a text before it is split: cleaning, normal forms, lower case, marks for spaces.
#pragma once

#include <functional>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

/// `piece` must be valid UTF-8; so is the result.
using Normalizer = std::function<Piece(const Piece& piece, Arena& arena)>;

/// Reads the component `normalizer` of a file, or a part of it; empty if there is none.
Normalizer read_normalizer(const TokenizerFile& file, const Json& component);

Normalizer read_charsmap_normalizer(const TokenizerFile& file, const Json& component);

}  // namespace heed
