// WordPiece like BERT's (Devlin et al. 2019): lower-case words without accents, split into the
// longest pieces of a list; pieces that do not begin a word are written with `##`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tokenizer.h"
#include "text/added_token.h"
#include "text/tokenizer_file.h"

namespace heed {

struct WordPieceTraining {
  std::int64_t vocabulary_size = 4096;  // special tokens, characters and merges together
  LearnedSpecials special = {
      .tokens = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}, .begin = "[CLS]", .end = "[SEP]"};
};

/// Learns pieces by pair frequency (ties: the smaller ids), like the trainer of `tokenizers`. Ids:
/// special tokens from 0 on, `[UNK]` among them, then the text's characters (the 1,000 most
/// frequent; the others become `[UNK]`), those inside words, then the merges. The vocabulary is
/// smaller if no pair repeats any more.
std::unique_ptr<Tokenizer> train_word_piece(std::string_view text,
                                            const WordPieceTraining& training);

/// The content of a WordPiece tokenizer's file.
struct WordPieceContent {
  std::vector<std::string> pieces = {};
  std::vector<AddedToken> added_tokens = {};
  Json post_processor = {};  // null: none
  std::string unknown = "[UNK]";
  Json strip_accents = {};  // null: where the text becomes lower case
  bool lowercase = true;
  bool handle_chinese = true;
};
/// The text of its `tokenizer.json`.
std::string word_piece_json(const WordPieceContent& content);

}  // namespace heed
