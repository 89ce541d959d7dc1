// SentencePiece's own normaliser and decoder (Kudo and Richardson 2018), which the components of a
// tokenizer.json approximate but do not reproduce exactly.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/pipeline/charsmap.h"
#include "text/pipeline/decoder.h"
#include "text/pipeline/normalizer.h"
#include "text/trie.h"

namespace heed {

struct SentencePieceSpaces {
  bool add_prefix = true;  // a mark before the text, or after it
  bool prefix_behind = false;
  bool remove_extra = true;  // at both ends, and after another space
  bool escape = true;        // as marks
};

/// `kept` has symbols that no rule changes. `map` may be empty.
std::unique_ptr<Normalizer> sentence_piece_normalizer(std::optional<Charsmap> map, Trie kept,
                                                      const SentencePieceSpaces& spaces);

struct SentencePieceSurface {
  std::string unknown;  // this piece, and its text
  std::string unknown_surface;
  std::vector<std::string> control;  // pieces without text
};
std::unique_ptr<Decoder> sentence_piece_decoder(SentencePieceSurface surface,
                                                const SentencePieceSpaces& spaces);

}  // namespace heed
