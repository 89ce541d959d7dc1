// A tokenizer from SentencePiece's model file. In a model's folder it also adds what transformers
// adds: control pieces in the text are tokens, and a first or last token is put around it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/wording.h"
#include "text/files/config_tokens.h"
#include "text/files/readers.h"
#include "text/files/sentence_piece_json.h"
#include "text/model/bpe.h"
#include "text/model/unigram.h"
#include "text/pipeline/sentence_piece_parts.h"
#include "text/pipeline_tokenizer.h"

namespace heed {
namespace {

using Model = SentencePieceModel;
using Type = Model::Type;

constexpr TokenId kExtraOfT5 = 100;
constexpr std::int64_t kMostExtra = 10000;
constexpr std::string_view kFairseq = "sentencepiece.bpe.model";  // used by XLM-R and CamemBERT

/// Ids of pieces: their own, or those in Marian's vocab.json.
struct Ids {
  std::unique_ptr<Vocabulary> vocabulary = std::make_unique<Vocabulary>();
  TokenId unknown = 0;

  TokenId of(std::string_view piece) const {
    const TokenId id = vocabulary->find(piece);
    return id < 0 ? unknown : id;
  }
};

Ids number_pieces(const Model& model) {
  Ids ids = {.unknown = static_cast<TokenId>(model.unknown)};
  for (const Model::Piece& piece : model.pieces) {
    ids.vocabulary->ids.emplace(piece.text, static_cast<TokenId>(ids.vocabulary->pieces.size()));
    ids.vocabulary->pieces.push_back(piece.text);
  }
  return ids;
}

// fairseq's tokens, the pieces without the model's special ones, and `<mask>`. CamemBERT has `<s>`
// and `</s>` among the pieces.
Ids number_as_fairseq(const Model& model, bool is_camembert) {
  std::vector<std::string> pieces = {"<s>", "<pad>", "</s>", "<unk>"};
  if (is_camembert) pieces = {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"};
  const std::size_t own = is_camembert ? 1 : 3;
  for (std::size_t i = own; i < model.pieces.size(); ++i) pieces.push_back(model.pieces[i].text);
  pieces.emplace_back("<mask>");
  Ids ids = {.unknown = 3};
  for (std::string& piece : pieces) {
    ids.vocabulary->ids.emplace(piece, static_cast<TokenId>(ids.vocabulary->pieces.size()));
    ids.vocabulary->pieces.push_back(std::move(piece));
  }
  return ids;
}

bool is_camembert(const std::filesystem::path& folder) {
  const std::string family =
      token_name(read_tokenizer_config(folder).root(), "tokenizer_class", "");
  if (!family.empty()) return family.starts_with("Camembert");
  const std::filesystem::path file = folder / "config.json";
  if (!std::filesystem::exists(file)) return false;
  const JsonText config = JsonText::parse(content_of(file), {.file = file.string()});
  return config.root()["model_type"] == Json("camembert");
}

Ids read_ids(const std::filesystem::path& path, const Model& model) {
  const JsonText json = JsonText::parse(content_of(path), {.file = path.string()});
  Ids ids;
  ids.vocabulary->add_all(json, json.root(), "the vocabulary");
  const std::string& unknown = model.pieces[static_cast<std::size_t>(model.unknown)].text;
  ids.unknown = ids.vocabulary->find(unknown);
  if (ids.unknown < 0)
    json.refuse(json.root(), "the vocabulary", "one with the piece " + Json(unknown).brief());
  return ids;
}

Trie user_defined(const Model& model, const Ids& ids) {
  Trie trie;
  for (const Model::Piece& piece : model.pieces)
    if (piece.type == Type::kUserDefined) trie.add(piece.text, ids.of(piece.text));
  return trie;
}

bool is_searched(Type type) { return type == Type::kNormal || type == Type::kUserDefined; }

std::unique_ptr<TokenModel> unigram_of(const Model& model, const Ids& ids) {
  float lowest = std::numeric_limits<float>::max();
  float highest = std::numeric_limits<float>::lowest();
  for (const Model::Piece& piece : model.pieces)
    if (piece.type == Type::kNormal) {
      lowest = std::min(lowest, piece.score);
      highest = std::max(highest, piece.score);
    }
  std::vector<ScoredPiece> pieces;
  for (const Model::Piece& piece : model.pieces) {
    if (!is_searched(piece.type)) continue;
    // A user-defined symbol wins over all pieces that cover the same bytes.
    const float score = piece.type == Type::kUserDefined
                            ? static_cast<float>(piece.text.size()) * highest - 0.1F
                            : piece.score;
    pieces.push_back({.text = piece.text, .id = ids.of(piece.text), .score = score});
  }
  UnigramOptions options = {
      .unknown = ids.unknown, .unknown_score = lowest - kUnknownPenalty, .single_precision = true};
  if (model.byte_fallback) options.bytes = byte_ids(*ids.vocabulary);
  return make_unigram(pieces, std::move(options));
}

std::unique_ptr<TokenModel> bpe_of(const Model& model, const Ids& ids) {
  BpeOptions options = {.fuse_unknown = true, .unknown = ids.unknown};
  if (model.byte_fallback) options.bytes = byte_ids(*ids.vocabulary);
  options.whole = user_defined(model, ids);
  auto bpe = std::make_unique<Bpe>(*ids.vocabulary, std::move(options));
  if (model.algorithm == Model::Algorithm::kCharacter) return bpe;
  for (const SentencePieceMerge& merge : merges_of(model)) {
    const auto text = [&](TokenId id) -> std::string_view {
      return model.pieces[static_cast<std::size_t>(id)].text;
    };
    bpe->add_merge(text(merge.left), text(merge.right), ids.of(text(merge.left)),
                   ids.of(text(merge.right)), merge.rank, ids.of(text(merge.result)));
  }
  return bpe;
}

Normalizer normalizer_of(const Model& model, const Ids& ids, const std::string& path) {
  auto map = model.charsmap.empty() ? std::nullopt : Charsmap::parse(model.charsmap);
  if (!map && !model.charsmap.empty())
    fail({.code = ErrorCode::kCorrupt,
          .file = path,
          .argument = "precompiled_charsmap",
          .found =
              fmt::format("{} whose sizes do not fit", number_of(model.charsmap.size(), "byte")),
          .expected = "a trie and its texts"});
  return sentence_piece_normalizer(std::move(map), user_defined(model, ids),
                                   {.add_prefix = model.add_dummy_prefix,
                                    .prefix_behind = model.space_as_suffix,
                                    .remove_extra = model.remove_extra_spaces,
                                    .escape = model.escape_spaces});
}

Decoder decoder_of(const Model& model, bool in_folder) {
  SentencePieceSurface surface;
  for (const Model::Piece& piece : model.pieces) {
    if (in_folder) break;  // there they are added tokens
    if (piece.type == Type::kControl) surface.control.push_back(piece.text);
    if (piece.type == Type::kUnknown) surface.unknown = piece.text;
  }
  surface.unknown_surface = model.unknown_surface;
  return sentence_piece_decoder(std::move(surface), {.add_prefix = model.add_dummy_prefix,
                                                     .remove_extra = model.remove_extra_spaces});
}

// The pieces that transformers finds in the text: controls, and Marian's `>>fr<<`.
std::vector<AddedToken> added_tokens_of(const Model& model, const Ids& ids) {
  std::vector<AddedToken> added;
  for (const Model::Piece& piece : model.pieces)
    if (piece.type == Type::kControl || piece.type == Type::kUnknown)
      if (const TokenId id = ids.vocabulary->find(piece.text); id >= 0)
        added.push_back({.content = piece.text, .id = id, .special = true});
  for (std::size_t id = 0; id < ids.vocabulary->pieces.size(); ++id) {
    const std::string& piece = ids.vocabulary->pieces[id];
    const bool language = piece.starts_with(">>") && piece.ends_with("<<");
    const bool of_fairseq = piece == "<mask>" || piece.ends_with(">NOTUSED");
    if (language || of_fairseq || piece == "<pad>")
      if (std::ranges::find(added, piece, &AddedToken::content) == added.end())
        added.push_back({.content = piece,
                         .id = static_cast<TokenId>(id),
                         .special = true,
                         .lstrip = piece == "<mask>"});
  }
  return added;
}

// T5's sentinels, which are not in its model file: <extra_id_0> is the last id.
void add_sentinels(const JsonText& config, Ids& ids, std::vector<AddedToken>& added) {
  const Json& extra = config.root()["extra_ids"];
  const std::int64_t wanted = extra.is_null() ? kExtraOfT5 : extra.as_whole_number().value_or(-1);
  if (wanted < 0 || wanted > kMostExtra)
    config.refuse(extra, "extra_ids", fmt::format("a whole number, 0 to {}", kMostExtra));
  const auto count = static_cast<TokenId>(wanted);
  const auto first = static_cast<TokenId>(ids.vocabulary->pieces.size());
  std::vector<AddedToken> tokens;
  for (TokenId i = 0; i < count; ++i)
    tokens.push_back(
        {.content = fmt::format("<extra_id_{}>", i), .id = first + count - 1 - i, .special = true});
  add_tokens(config, tokens, *ids.vocabulary, added);
}

std::string piece_at(const Model& model, std::int64_t id) {
  const bool is_piece = id >= 0 && id < std::ssize(model.pieces);
  return is_piece ? model.pieces[static_cast<std::size_t>(id)].text : "";
}

// From tokenizer_config.json, else the default of models with such a file.
SentencePieceFrame frame_of(const Model& model, const Json& config, const std::string& file) {
  if (file == kFairseq) return {.begin = "<s>", .end = "</s>", .second = "</s>"};
  const bool begins = config["add_bos_token"].as_flag().value_or(file == "tokenizer.model");
  const bool ends = config["add_eos_token"].as_flag().value_or(file != "tokenizer.model");
  return {.begin = begins ? piece_at(model, model.begin) : "",
          .end = ends ? piece_at(model, model.end) : ""};
}

Frame frame_of(const SentencePieceFrame& names, const Ids& ids) {
  Frame frame;
  if (!names.begin.empty()) {
    const FramePart part = {.ids = {ids.of(names.begin)}};
    frame.one.insert(frame.one.begin(), part);
    frame.two.insert(frame.two.begin(), part);
  }
  if (!names.end.empty()) {
    const FramePart part = {.ids = {ids.of(names.end)}};
    frame.one.push_back(part);
    frame.two.insert(frame.two.end() - 1, part);
    if (!names.second.empty()) {  // RoBERTa's: two tokens between the texts, and one type
      frame.two.insert(frame.two.end() - 1, {.ids = {ids.of(names.second)}});
      frame.two.back().type = 0;
    }
    frame.two.push_back({.ids = part.ids, .type = frame.two.back().type});
  }
  return frame;
}

/// The folder's additions to the model's file.
struct Surroundings {
  std::vector<AddedToken> added = {};
  SentencePieceFrame frame = {};
};

Surroundings read_surroundings(const std::filesystem::path& path, const Model& model, Ids& ids) {
  const JsonText config = read_tokenizer_config(path.parent_path());
  const std::string name = path.filename().string();
  Surroundings result = {.added = added_tokens_of(model, ids)};
  const std::vector<AddedToken> listed = added_tokens_of(config, path.parent_path());
  const bool has_sentinels = std::ranges::any_of(
      listed, [](const AddedToken& token) { return token.content.starts_with("<extra_id_"); });
  if (!has_sentinels && name == "spiece.model") add_sentinels(config, ids, result.added);
  add_tokens(config, listed, *ids.vocabulary, result.added);
  result.frame = frame_of(model, config.root(), name);
  return result;
}

void refuse_words(const Model& model, const std::filesystem::path& path) {
  if (model.algorithm == Model::Algorithm::kWord)
    fail_in(path.string(), "model_type", "3 (words)", "1 (unigram), 2 (BPE) or 4 (characters)",
            ErrorCode::kUnsupported);
}

// `in_folder`: control pieces are added tokens, like in transformers.
std::unique_ptr<Tokenizer> tokenizer_of(const std::shared_ptr<const Model>& model, Ids ids,
                                        const Surroundings& around, bool in_folder,
                                        const std::string& name) {
  const bool is_unigram = model->algorithm == Model::Algorithm::kUnigram;
  TokenizerPipeline pipeline = {.added = around.added,
                                .normalizer = normalizer_of(*model, ids, name),
                                .model = is_unigram ? unigram_of(*model, ids) : bpe_of(*model, ids),
                                .frame = frame_of(around.frame, ids),
                                .decoder = decoder_of(*model, in_folder)};
  pipeline.to_json = [model, vocabulary = ids.vocabulary.get(), around] {
    return sentence_piece_json(*model, *vocabulary, around.added, around.frame);
  };
  pipeline.vocabulary = std::move(ids.vocabulary);
  return make_tokenizer(std::move(pipeline), name);
}

}  // namespace

std::unique_ptr<Tokenizer> sentence_piece_tokenizer(SentencePieceModel model,
                                                    const SentencePieceFrame& frame,
                                                    const std::string& name) {
  const auto shared = std::make_shared<const Model>(std::move(model));
  Ids ids = number_pieces(*shared);
  const Surroundings around = {.added = added_tokens_of(*shared, ids), .frame = frame};
  return tokenizer_of(shared, std::move(ids), around, /*in_folder=*/true, name);
}

std::unique_ptr<Tokenizer> read_sentence_piece(
    const std::filesystem::path& path,
    const std::optional<std::filesystem::path>& vocabulary_file) {
  const auto model = std::make_shared<const Model>(read_sentence_piece_model(path));
  refuse_words(*model, path);
  const std::string name = path.filename().string();
  const bool in_folder =
      vocabulary_file || name == "tokenizer.model" || name == "spiece.model" || name == kFairseq;
  Ids ids = vocabulary_file    ? read_ids(*vocabulary_file, *model)
            : name == kFairseq ? number_as_fairseq(*model, is_camembert(path.parent_path()))
                               : number_pieces(*model);
  const Surroundings around = in_folder ? read_surroundings(path, *model, ids) : Surroundings();
  return tokenizer_of(model, std::move(ids), around, in_folder, path.string());
}

}  // namespace heed
