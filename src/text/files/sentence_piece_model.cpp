#include "text/files/sentence_piece_model.h"

#include <fmt/format.h>

#include "base/formats/protobuf.h"
#include "base/wording.h"
#include "text/files/readers.h"

namespace heed {
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
