#include "text/pipeline_tokenizer.h"

#include <fmt/format.h>

#include <limits>

#include "base/wording.h"
#include "text/pipeline/added_tokens.h"
#include "text/utf8.h"

namespace heed {
namespace {

class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(TokenizerPipeline parts);

  std::int64_t vocabulary_size() const override {
    return static_cast<std::int64_t>(vocabulary().pieces.size());
  }
  bool has(TokenId id) const override {
    return id >= 0 && id < vocabulary_size() &&
           !vocabulary().pieces[static_cast<std::size_t>(id)].empty();
  }
  Encoding encode(std::string_view text, bool add_special) const override {
    const PlainEncoding plain[] = {encode_plain(text)};
    return framed(parts_.frame, plain, add_special);
  }
  Encoding encode_pair(std::string_view first, std::string_view second,
                       bool add_special) const override {
    const PlainEncoding plain[] = {encode_plain(first), encode_plain(second)};
    return framed(parts_.frame, plain, add_special);
  }
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string token_bytes(TokenId id) const override;
  std::string piece(TokenId id) const override { return vocabulary().pieces[checked(id)]; }
  bool is_special(TokenId id) const override { return special_[checked(id)]; }
  TokenId find(std::string_view piece) const override { return vocabulary().find(piece); }
  std::string to_json() const override { return parts_.to_json(); }
  TokenId unknown_token() const override { return parts_.model->unknown(); }

 private:
  const Vocabulary& vocabulary() const { return *parts_.vocabulary; }
  std::string normalized(std::string_view content, Arena& arena) const;
  PlainEncoding encode_plain(std::string_view text) const;
  void encode_between(const Piece& piece, Arena& arena, const ModelRun& run,
                      const TokenSink& out) const;
  std::size_t checked(TokenId id) const;
  std::string joined(std::vector<std::string> pieces) const;

  TokenizerPipeline parts_;
  AddedTokens as_written_;     // searched in the original text
  AddedTokens normalized_;     // searched after the normaliser
  std::vector<bool> added_;    // by id
  std::vector<bool> special_;  // by id
};

PipelineTokenizer::PipelineTokenizer(TokenizerPipeline parts)
    : parts_(std::move(parts)),
      added_(vocabulary().pieces.size()),
      special_(vocabulary().pieces.size()) {
  std::vector<AddedToken> as_written;
  std::vector<AddedToken> after_normalizer;
  std::size_t content_bytes = 0;
  for (const AddedToken& token : parts_.added) content_bytes += token.content.size();
  Arena arena(content_bytes);
  for (AddedToken token : parts_.added) {
    added_[static_cast<std::size_t>(token.id)] = true;
    special_[static_cast<std::size_t>(token.id)] = token.special;
    if (token.normalized) token.content = normalized(token.content, arena);
    (token.normalized ? after_normalizer : as_written).push_back(std::move(token));
  }
  as_written_ = AddedTokens(std::move(as_written));
  normalized_ = AddedTokens(std::move(after_normalizer));
}

std::string PipelineTokenizer::normalized(std::string_view content, Arena& arena) const {
  if (!parts_.normalizer) return std::string(content);
  return std::string(parts_.normalizer({.text = content}, arena).text);
}

// Encodes the text between the added tokens that are searched first.
void PipelineTokenizer::encode_between(const Piece& piece, Arena& arena, const ModelRun& run,
                                       const TokenSink& out) const {
  const Piece text = parts_.normalizer ? parts_.normalizer(piece, arena) : piece;
  std::vector<Piece> words;
  for (const Segment& segment : normalized_.split(text)) {
    if (segment.id >= 0) {
      out.add(segment.id, segment.piece, 0, segment.piece.text.size());
      continue;
    }
    words.clear();
    if (parts_.pre_tokenizer) {
      parts_.pre_tokenizer(segment.piece, arena, words);
    } else {
      words.push_back(segment.piece);
    }
    for (const Piece& word : words) run(word, out);
  }
}

PlainEncoding PipelineTokenizer::encode_plain(std::string_view text) const {
  if (text.size() > std::numeric_limits<std::uint32_t>::max())
    fail("tokenizer", "text", fmt::format("{} long", number_of(text.size(), "byte")),
         "less than 4 GiB");
  require_utf8(text);
  PlainEncoding out = {.bytes = static_cast<std::int64_t>(text.size())};
  const TokenSink sink = {out.ids, out.spans};
  Arena arena(text.size());
  const ModelRun run = parts_.model->run();
  for (const Segment& segment : as_written_.split({.text = text})) {
    if (segment.id >= 0) {
      sink.add(segment.id, segment.piece, 0, segment.piece.text.size());
    } else {
      encode_between(segment.piece, arena, run, sink);
    }
  }
  return out;
}

std::size_t PipelineTokenizer::checked(TokenId id) const {
  const bool inside = id >= 0 && id < vocabulary_size();
  if (!inside) fail("tokenizer", "id", id, fmt::format("0 to {}", vocabulary_size() - 1));
  const auto index = static_cast<std::size_t>(id);
  if (vocabulary().pieces[index].empty())
    fail("tokenizer", "id", fmt::format("{}, a gap in the vocabulary", id),
         fmt::format("an id from 0 to {} that a token has", vocabulary_size() - 1));
  return index;
}

std::string PipelineTokenizer::joined(std::vector<std::string> pieces) const {
  parts_.decoder.apply(pieces);
  std::string text;
  for (const std::string& one : pieces) text += one;
  return text;
}

std::string PipelineTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const TokenId id : ids) {
    const std::size_t index = checked(id);
    if (!(skip_special && special_[index])) pieces.push_back(vocabulary().pieces[index]);
  }
  return joined(std::move(pieces));
}

// Decodes it after another piece, so that decoders treat it as inside a text.
std::string PipelineTokenizer::token_bytes(TokenId id) const {
  const std::size_t index = checked(id);
  const std::string& name = vocabulary().pieces[index];
  if (added_[index]) return name;
  const std::string with = joined({"a", name});
  return with.starts_with('a') ? with.substr(1) : name;
}

void check_frame(const TokenizerPipeline& pipeline, const std::string& name) {
  const auto size = static_cast<TokenId>(pipeline.vocabulary->pieces.size());
  for (const auto* parts : {&pipeline.frame.one, &pipeline.frame.two})
    for (const FramePart& part : *parts)
      for (const TokenId id : part.ids)
        if (id < 0 || id >= size)
          fail_in(name, "an id of post_processor", id,
                  fmt::format("one below the {} of the vocabulary", size));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerPipeline pipeline, const std::string& name) {
  check_frame(pipeline, name);
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

std::unique_ptr<Tokenizer> read_tokenizer(const TokenizerFile& file) {
  TokenizerPipeline pipeline = {.vocabulary = std::make_unique<Vocabulary>(file.vocabulary()),
                                .added = file.added_tokens()};
  for (AddedToken& token : pipeline.added) token.id = pipeline.vocabulary->find(token.content);
  pipeline.normalizer = read_normalizer(file, file.component("normalizer"));
  pipeline.pre_tokenizer = read_pre_tokenizer(file, file.component("pre_tokenizer"));
  pipeline.model = read_model(file, *pipeline.vocabulary);
  pipeline.frame = read_frame(file);
  pipeline.decoder = read_decoder(file, file.component("decoder"));
  pipeline.to_json = [text = file.text()] { return text; };
  return make_tokenizer(std::move(pipeline), file.name());
}

}  // namespace heed
