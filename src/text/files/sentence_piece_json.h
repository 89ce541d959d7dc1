// SentencePiece's model file, and a model in the form of a tokenizer.json, like transformers'
// conversion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_file.h"

namespace heed {

struct SentencePieceModel {
  enum class Type : std::int64_t {  // of a piece
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  enum class Algorithm : std::int64_t { kUnigram = 1, kBpe = 2, kWord = 3, kCharacter = 4 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;
  };

  std::vector<Piece> pieces;
  Algorithm algorithm = Algorithm::kUnigram;
  bool byte_fallback = false;
  bool space_as_suffix = false;  // the mark ends a word
  std::int64_t unknown = 0;      // ids
  std::int64_t begin = 1;
  std::int64_t end = 2;
  std::string unknown_surface = " \xE2\x81\x87 ";
  std::string charsmap = {};
  bool add_dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
};

/// Checks every length in the file; errors name the byte or the piece.
SentencePieceModel read_sentence_piece_model(const std::filesystem::path& path);

/// A merge of two pieces, by its order: equal if the joint pieces have equal scores.
struct SentencePieceMerge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
  std::int32_t rank = 0;
};

/// The merges of a BPE model, best first: every split of a piece into two.
std::vector<SentencePieceMerge> merges_of(const SentencePieceModel& model);

struct SentencePieceFrame {
  std::string begin;  // a piece's name, or empty
  std::string end;
  std::string second = {};  // one more before a second text, whose type is then the first's
};

/// A tokenizer for the model: ids are the indices of its pieces, controls and `<unk>` are added
/// tokens; errors call the file `name`.
std::unique_ptr<Tokenizer> sentence_piece_tokenizer(SentencePieceModel model,
                                                    const SentencePieceFrame& frame,
                                                    const std::string& name);

/// The pre-tokeniser that writes spaces as SentencePiece's mark; `prefix` says where the text gets
/// an additional one: "first" (at its beginning), "always" (also after each added token) or
/// "never".
Json metaspace_json(std::string_view prefix, bool split);
/// Its decoder; `has_prefix`: removes the text's first space.
Json metaspace_decoder_json(bool has_prefix);

std::string sentence_piece_json(const SentencePieceModel& model, const Vocabulary& vocabulary,
                                const std::vector<AddedToken>& added,
                                const SentencePieceFrame& frame);

}  // namespace heed
