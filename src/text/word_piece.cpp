#include "text/word_piece.h"

namespace heed {

std::string word_piece_json(const WordPieceContent& content) {
  const Json normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", content.handle_chinese},
                           {"strip_accents", content.strip_accents},
                           {"lowercase", content.lowercase}};
  const Json model = {{"type", "WordPiece"},
                      {"unk_token", content.unknown},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", vocabulary_json(content.pieces)}};
  return write_tokenizer_json(
      {.normalizer = normalizer,
       .pre_tokenizer = {{"type", "BertPreTokenizer"}},
       .post_processor = content.post_processor,
       .decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}},
       .model = model,
       .added_tokens = content.added_tokens});
}

}  // namespace heed
