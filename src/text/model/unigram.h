// Unigram language model (Kudo 2018): the split of a text into pieces with the largest sum of
// scores.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/model/model.h"
#include "text/trie.h"

namespace heed {

/// How far the score of an unknown character is below the lowest score of any piece.
inline constexpr float kUnknownPenalty = 10;

/// A piece and its log-probability.
struct ScoredPiece {
  std::string text;
  TokenId id = 0;
  double score = 0;
};

struct UnigramOptions {
  TokenId unknown = -1;             // -1: an unknown character is an error
  double unknown_score = 0;         // for an unknown character
  bool single_precision = false;    // sums are rounded to f32, like in SentencePiece
  std::vector<TokenId> bytes = {};  // for all 256, -1: none; used for unknown characters
};

std::unique_ptr<TokenModel> make_unigram(const std::vector<ScoredPiece>& pieces,
                                         UnigramOptions options);

/// The ids of <0x00> to <0xFF>; -1 if missing.
std::vector<TokenId> byte_ids(const Vocabulary& vocabulary);
/// Whether these ids exist for each byte of the text; for all 256.
bool has_all_bytes(const std::vector<TokenId>& bytes, std::string_view text);
bool has_every_byte(const std::vector<TokenId>& bytes);

}  // namespace heed
