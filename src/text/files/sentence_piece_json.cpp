#include "text/files/sentence_piece_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/formats/protobuf.h"
#include "base/wording.h"
#include "text/files/config_tokens.h"
#include "text/files/readers.h"
#include "text/pipeline/base64.h"
#include "text/utf8.h"

namespace heed {
namespace {

using Type = SentencePieceModel::Type;

Json replace_json(const Json& pattern, std::string_view content) {
  return Json({{"type", "Replace"}, {"pattern", pattern}, {"content", content}});
}

Json bpe_json(const SentencePieceModel& model) {
  std::vector<std::string> pieces;
  for (const auto& piece : model.pieces) pieces.push_back(piece.text);
  Json merges = Json::array();
  for (const SentencePieceMerge& merge : merges_of(model))
    merges.push(Json::array({pieces[static_cast<std::size_t>(merge.left)],
                             pieces[static_cast<std::size_t>(merge.right)]}));
  return Json({{"type", "BPE"},
               {"dropout", nullptr},
               {"unk_token", pieces[static_cast<std::size_t>(model.unknown)]},
               {"continuing_subword_prefix", nullptr},
               {"end_of_word_suffix", nullptr},
               {"fuse_unk", true},
               {"byte_fallback", model.byte_fallback},
               {"ignore_merges", false},
               {"vocab", vocabulary_json(pieces)},
               {"merges", merges}});
}

Json unigram_json(const SentencePieceModel& model, const Vocabulary& vocabulary) {
  std::unordered_map<std::string_view, float> scores;
  float lowest = 0;
  for (const auto& piece : model.pieces) {
    scores.emplace(piece.text, piece.score);
    lowest = std::min(lowest, piece.score);
  }
  Json entries = Json::array();
  for (const std::string& piece : vocabulary.pieces) {
    const auto found = scores.find(piece);
    const float score = found == scores.end() ? lowest : found->second;
    entries.push(
        Json::array({piece.empty() ? Json(kSpaceMark) : Json(piece), Json(double{score})}));
  }
  const std::string& unknown = model.pieces[static_cast<std::size_t>(model.unknown)].text;
  return Json({{"type", "Unigram"},
               {"unk_id", vocabulary.find(unknown)},
               {"vocab", entries},
               {"byte_fallback", model.byte_fallback}});
}

bool is_bpe(const SentencePieceModel& model) {
  return model.algorithm == SentencePieceModel::Algorithm::kBpe;
}

Json normalizer_json(const SentencePieceModel& model) {
  Json parts = Json::array();
  if (!model.charsmap.empty())
    parts.push(
        Json({{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(model.charsmap)}}));
  if (model.remove_extra_spaces) {
    parts.push(Json({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}));
    parts.push(replace_json(Json({{"Regex", " {2,}"}}), " "));
  }
  // Metaspace would put no mark before a text that begins with a blank; SentencePiece does.
  if (is_bpe(model)) {
    if (model.add_dummy_prefix) parts.push(Json({{"type", "Prepend"}, {"prepend", kSpaceMark}}));
    parts.push(replace_json(Json({{"String", " "}}), kSpaceMark));
  }
  return Json({{"type", "Sequence"}, {"normalizers", parts}});
}

}  // namespace

std::vector<SentencePieceMerge> merges_of(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, TokenId> ids;
  std::vector<TokenId> order;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type != Type::kNormal) continue;
    ids.emplace(model.pieces[id].text, static_cast<TokenId>(id));
    order.push_back(static_cast<TokenId>(id));
  }
  const auto score = [&](TokenId id) { return model.pieces[static_cast<std::size_t>(id)].score; };
  std::ranges::stable_sort(order, [&](TokenId a, TokenId b) { return score(a) > score(b); });
  std::vector<SentencePieceMerge> merges;
  std::int32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) != score(order[i - 1])) ++rank;
    const std::string_view text = model.pieces[static_cast<std::size_t>(order[i])].text;
    for (std::size_t cut = character_at(text, 0).bytes; cut < text.size();
         cut += character_at(text, cut).bytes) {
      const auto left = ids.find(text.substr(0, cut));
      const auto right = ids.find(text.substr(cut));
      if (left != ids.end() && right != ids.end())
        merges.push_back({left->second, right->second, order[i], rank});
    }
  }
  return merges;
}

Json metaspace_json(std::string_view prefix, bool split) {
  return Json({{"type", "Metaspace"},
               {"replacement", kSpaceMark},
               {"prepend_scheme", prefix},
               {"split", split}});
}

Json metaspace_decoder_json(bool has_prefix) {
  const Json decoders = Json::array(
      {replace_json(Json({{"String", kSpaceMark}}), " "), Json({{"type", "ByteFallback"}}),
       Json({{"type", "Fuse"}}),
       Json({{"type", "Strip"}, {"content", " "}, {"start", has_prefix ? 1 : 0}, {"stop", 0}})});
  return Json({{"type", "Sequence"}, {"decoders", decoders}});
}

std::string sentence_piece_json(const SentencePieceModel& model, const Vocabulary& vocabulary,
                                const std::vector<AddedToken>& added,
                                const SentencePieceFrame& frame) {
  return write_tokenizer_json(
      {.normalizer = normalizer_json(model),
       .pre_tokenizer = is_bpe(model) ? Json()
                                      : metaspace_json(model.add_dummy_prefix ? "always" : "never",
                                                       /*split=*/true),
       .post_processor = template_json(vocabulary, frame.begin, frame.end, frame.second,
                                       frame.second.empty() ? 1 : 0),
       .decoder = metaspace_decoder_json(model.add_dummy_prefix),
       .model = is_bpe(model) ? bpe_json(model) : unigram_json(model, vocabulary),
       .added_tokens = added});
}

namespace {

using Model = SentencePieceModel;

// With the field numbers of sentencepiece_model.proto.
Model::Piece read_piece(std::span<const std::byte> message, const ProtobufSource& source) {
  Model::Piece piece;
  ProtobufReader reader(message, source);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 1) piece.text = field.as_text(source);
    if (field.number == 2) piece.score = field.as_float(source);
    if (field.number == 3) piece.type = static_cast<Model::Type>(field.as_int(source));
  }
  return piece;
}

void read_trainer(std::span<const std::byte> message, const ProtobufSource& source, Model& model) {
  ProtobufReader reader(message, source);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 3) model.algorithm = static_cast<Model::Algorithm>(field.as_int(source));
    if (field.number == 24) model.space_as_suffix = field.as_int(source) != 0;
    if (field.number == 35) model.byte_fallback = field.as_int(source) != 0;
    if (field.number == 40) model.unknown = static_cast<std::int32_t>(field.as_int(source));
    if (field.number == 41) model.begin = static_cast<std::int32_t>(field.as_int(source));
    if (field.number == 42) model.end = static_cast<std::int32_t>(field.as_int(source));
    if (field.number == 44) model.unknown_surface = field.as_text(source);
  }
}

void read_normalizer(std::span<const std::byte> message, const ProtobufSource& source,
                     Model& model) {
  ProtobufReader reader(message, source);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 2) model.charsmap = field.as_text(source);
    if (field.number == 3) model.add_dummy_prefix = field.as_int(source) != 0;
    if (field.number == 4) model.remove_extra_spaces = field.as_int(source) != 0;
    if (field.number == 5) model.escape_spaces = field.as_int(source) != 0;
  }
}

[[noreturn]] void refuse(const ProtobufSource& source, Phrase argument, Phrase found,
                         Phrase expected) {
  fail_in(source.path, std::move(argument), std::move(found), std::move(expected));
}

void check(const Model& model, const ProtobufSource& source) {
  constexpr std::size_t kMostPieces = 1 << 21;
  const std::size_t count = model.pieces.size();
  if (count == 0 || count > kMostPieces)
    refuse(source, "pieces", fmt::format("a list of {}", count),
           fmt::format("a list of 1 to {}", kMostPieces));
  std::int64_t unknown = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const Model::Piece& piece = model.pieces[i];
    if (piece.text.empty() || find_invalid_utf8(piece.text) >= 0)
      refuse(source, fmt::format("piece {}", i), fmt::format("'{}'", displayable(piece.text)),
             "a text in UTF-8 that is not empty");
    if (piece.type == Model::Type::kUnknown) unknown = static_cast<std::int64_t>(i);
  }
  if (unknown < 0) refuse(source, "pieces", "a list without an unknown piece", "one");
  if (model.unknown != unknown)
    refuse(source, "unk_id", model.unknown, fmt::format("{}, the unknown piece", unknown));
  const auto algorithm = static_cast<std::int64_t>(model.algorithm);
  if (algorithm < 1 || algorithm > 4)
    refuse(source, "model_type", algorithm, "1 (unigram), 2 (BPE), 3 (words) or 4 (characters)");
}

}  // namespace

SentencePieceModel read_sentence_piece_model(const std::filesystem::path& path) {
  const std::string content = content_of(path);
  const ProtobufSource source = {std::as_bytes(std::span(content)), path.string()};
  Model model;
  ProtobufReader reader(source.bytes, source);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 1) model.pieces.push_back(read_piece(field.as_bytes(source), source));
    if (field.number == 2) read_trainer(field.as_bytes(source), source, model);
    if (field.number == 3) read_normalizer(field.as_bytes(source), source, model);
  }
  check(model, source);
  return model;
}

}  // namespace heed
