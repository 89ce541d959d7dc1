// SentencePiece's model file: the parts that a tokenizer needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace heed
