#include "text/model/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "text/utf8.h"

namespace heed {
namespace {

class Unigram final : public TokenModel {
 public:
  Unigram(const std::vector<ScoredPiece>& pieces, UnigramOptions options)
      : options_(std::move(options)) {
    for (const ScoredPiece& piece : pieces) {
      if (!piece.text.empty()) trie_.add(piece.text, static_cast<TokenId>(scored_.size()));
      scored_.push_back({piece.score, piece.id});
    }
  }
  ModelRun run() const override { return std::bind_front(&Unigram::encode, this); }
  TokenId unknown() const override {
    return has_every_byte(options_.bytes) ? -1 : options_.unknown;
  }
  void encode(const Piece& piece, const TokenSink& out) const;

 private:
  // The best split of the text up to some byte: its score and last piece.
  struct Best {
    double score = 0;
    std::size_t begin = 0;
    TokenId id = -1;
    bool reached = false;
  };

  void offer(Best& best, double before, double score, std::size_t begin, TokenId id) const {
    double sum = before + score;
    if (options_.single_precision) sum = static_cast<float>(sum);
    if (best.reached && sum <= best.score) return;
    best = {.score = sum, .begin = begin, .id = id, .reached = true};
  }
  void extend(std::string_view text, std::size_t begin, std::vector<Best>& ends) const;
  void add_unknown(const Piece& piece, std::size_t begin, std::size_t end,
                   const TokenSink& out) const;

  UnigramOptions options_;
  struct Scored {
    double score = 0;
    TokenId id = 0;
  };
  Trie trie_;  // its ids are indices of scored_
  std::vector<Scored> scored_;
};

// Considers every piece that begins at `begin`; a character that is not a piece is unknown.
void Unigram::extend(std::string_view text, std::size_t begin, std::vector<Best>& ends) const {
  const double before = ends[begin].score;
  const std::size_t character_end = begin + character_at(text, begin).bytes;
  bool is_known = false;
  Trie::Node node = Trie::kRoot;
  for (std::size_t i = begin; i < text.size(); ++i) {
    node = trie_.step(node, text[i]);
    if (node == Trie::kNowhere) break;
    const TokenId index = trie_.id(node);
    if (index < 0) continue;
    const auto& [score, id] = scored_[static_cast<std::size_t>(index)];
    offer(ends[i + 1], before, score, begin, id);
    is_known = is_known || i + 1 == character_end;
  }
  if (!is_known)
    offer(ends[character_end], before, options_.unknown_score, begin, options_.unknown);
}

void Unigram::add_unknown(const Piece& piece, std::size_t begin, std::size_t end,
                          const TokenSink& out) const {
  const std::string_view text = piece.text.substr(begin, end - begin);
  if (options_.unknown < 0)
    fail({.op = "tokenizer",
          .place = fmt::format("byte {}", piece.span(begin, begin + 1).begin),
          .found = fmt::format("'{}' has no piece, and the vocabulary no unknown token (unk_id)",
                               displayable(text))});
  if (!has_all_bytes(options_.bytes, text)) return out.add(options_.unknown, piece, begin, end);
  for (std::size_t i = begin; i < end; ++i)
    out.add(options_.bytes[static_cast<unsigned char>(piece.text[i])], piece, i, i + 1);
}

void Unigram::encode(const Piece& piece, const TokenSink& out) const {
  std::vector<Best> ends(piece.text.size() + 1);
  for (std::size_t i = 0; i < piece.text.size(); i += character_at(piece.text, i).bytes)
    extend(piece.text, i, ends);
  std::vector<std::size_t> cuts;  // from the end
  for (std::size_t end = piece.text.size(); end > 0; end = ends[end].begin) cuts.push_back(end);
  std::size_t unknown_begin = 0;
  bool after_unknown = false;
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    const Best& best = ends[*cut];
    const bool unknown = best.id == options_.unknown;
    if (unknown && !after_unknown)
      unknown_begin = best.begin;  // adjacent unknown characters are
                                   // one token
    if (!unknown && after_unknown) add_unknown(piece, unknown_begin, best.begin, out);
    if (!unknown) out.add(best.id, piece, best.begin, *cut);
    after_unknown = unknown;
  }
  if (after_unknown) add_unknown(piece, unknown_begin, piece.text.size(), out);
}

// One entry of model.vocab: [piece, score].
double score_of(const TokenizerFile& file, const Json& entry, std::size_t id) {
  const auto parts = entry.items();
  const auto score = parts.size() == 2 ? parts[1].as_number() : std::nullopt;
  if (!score || !parts[0].is_text())
    file.refuse(entry, fmt::format("model.vocab[{}]", id), "a list of a piece and its score");
  return *score;
}

}  // namespace

std::unique_ptr<TokenModel> make_unigram(const std::vector<ScoredPiece>& pieces,
                                         UnigramOptions options) {
  return std::make_unique<Unigram>(pieces, std::move(options));
}

std::vector<TokenId> byte_ids(const Vocabulary& vocabulary) {
  std::vector<TokenId> ids;
  for (int byte = 0; byte < 256; ++byte)
    ids.push_back(vocabulary.find(fmt::format("<0x{:02X}>", byte)));
  return ids;
}

bool has_all_bytes(const std::vector<TokenId>& bytes, std::string_view text) {
  return !bytes.empty() && std::ranges::all_of(text, [&](char byte) {
    return bytes[static_cast<unsigned char>(byte)] >= 0;
  });
}

bool has_every_byte(const std::vector<TokenId>& bytes) {
  return !bytes.empty() && std::ranges::find(bytes, -1) == bytes.end();
}

std::unique_ptr<TokenModel> read_unigram(const TokenizerFile& file, const Vocabulary& vocabulary) {
  std::vector<ScoredPiece> pieces;
  double lowest = std::numeric_limits<double>::max();
  for (const Json& entry : file.list(file.model()["vocab"], "model.vocab")) {
    const double score = score_of(file, entry, pieces.size());
    lowest = std::min(lowest, score);
    pieces.push_back({.text = *entry.items()[0].as_text(),
                      .id = static_cast<TokenId>(pieces.size()),
                      .score = score});
  }
  const Json& unknown = file.model()["unk_id"];
  const std::int64_t id = unknown.as_integer().value_or(-1);
  if (!unknown.is_null() && (id < 0 || id >= std::ssize(pieces)))
    file.refuse(unknown, "model.unk_id", fmt::format("null or an id below {}", pieces.size()));
  UnigramOptions options = {.unknown = static_cast<TokenId>(id),
                            .unknown_score = lowest - kUnknownPenalty};
  if (file.model()["byte_fallback"].as_flag().value_or(false)) options.bytes = byte_ids(vocabulary);
  return make_unigram(pieces, std::move(options));
}

}  // namespace heed
