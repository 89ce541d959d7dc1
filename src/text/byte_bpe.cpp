#include "text/byte_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/byte_alphabet.h"
#include "text/merges.h"
#include "text/readers.h"
#include "text/vocabulary_tokenizer.h"
#include "text/words.h"

namespace heed {
namespace {

struct Options {
  bool add_prefix_space = false;
  bool cut_words = true;
  bool ignore_merges =
      false;  // a word that is a vocabulary entry is that token, whatever merges say
};

class ByteBpe final : public VocabularyTokenizer {
 public:
  ByteBpe(const TokenizerFile& file, const Options& options)
      : VocabularyTokenizer(file, bytes_of_piece), options_(options) {
    for (std::size_t byte = 0; byte < 256; ++byte)
      byte_ids_[byte] = vocabulary().find(byte_characters()[byte]);
    for (const Json& entry : file.list(file.model()["merges"], "model.merges"))
      add_merge(file, entry);
  }

 private:
  void add_merge(const TokenizerFile& file, const Json& entry);
  void encode_segment(std::string_view text, std::int64_t offset, Encoding& out) const override;
  void encode_word(std::string_view word, std::int64_t offset, std::vector<Symbol>& symbols,
                   Encoding& out) const;
  TokenId whole_word(std::string_view word) const;

  Options options_;
  std::array<TokenId, 256> byte_ids_ = {};
  Merges merges_;
  std::int32_t rank_ = 0;
};

// "left right", or ["left", "right"] as newer files have it.
void ByteBpe::add_merge(const TokenizerFile& file, const Json& entry) {
  std::string left;
  std::string right;
  if (const std::string* text = entry.as_text()) {
    const std::size_t space = text->find(' ');
    left = text->substr(0, space);
    right = space == std::string::npos ? "" : text->substr(space + 1);
  } else if (const auto pair = entry.items();
             pair.size() == 2 && pair[0].is_text() && pair[1].is_text()) {
    left = *pair[0].as_text();
    right = *pair[1].as_text();
  }
  const TokenId left_id = vocabulary().find(left);
  const TokenId right_id = vocabulary().find(right);
  const TokenId result = vocabulary().find(left + right);
  if (left_id < 0 || right_id < 0 || result < 0)
    file.refuse(entry, fmt::format("model.merges[{}]", rank_),
                "two pieces that are in the vocabulary, as their joint form is");
  merges_.add(left_id, right_id, rank_++, result);
}

TokenId ByteBpe::whole_word(std::string_view word) const {
  std::string piece;
  for (const char byte : word) piece += byte_characters()[static_cast<unsigned char>(byte)];
  return vocabulary().find(piece);
}

void ByteBpe::encode_word(std::string_view word, std::int64_t offset, std::vector<Symbol>& symbols,
                          Encoding& out) const {
  const auto size = static_cast<std::int64_t>(word.size());
  symbols.clear();
  const TokenId whole = options_.ignore_merges ? whole_word(word) : -1;
  if (whole >= 0) {
    symbols.push_back({whole, offset, offset + size});
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])];
      if (id >= 0) symbols.push_back({id, offset + i, offset + i + 1});  // else dropped
    }
    merges_.apply(symbols);
  }
  for (const Symbol& symbol : symbols) {
    out.ids.push_back(symbol.id);
    out.spans.push_back({symbol.begin, symbol.end});
  }
}

void ByteBpe::encode_segment(std::string_view text, std::int64_t offset, Encoding& out) const {
  std::string prefixed;
  const bool prefix = options_.add_prefix_space && !text.starts_with(' ');
  if (prefix) {
    prefixed = ' ';
    prefixed += text;
    text = prefixed;
  }
  const std::size_t first = out.spans.size();
  std::vector<Symbol> symbols;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = options_.cut_words ? word_end(text, begin) : text.size();
    encode_word(text.substr(begin, end - begin),
                offset + static_cast<std::int64_t>(begin) - (prefix ? 1 : 0), symbols, out);
    begin = end;
  }
  for (std::size_t i = first; i < out.spans.size(); ++i) {  // the prefix is no byte of the text
    out.spans[i].begin = std::max(out.spans[i].begin, offset);
    out.spans[i].end = std::max(out.spans[i].end, offset);
    if (!prefix || out.spans[i].begin > offset) break;
  }
}

}  // namespace

bool is_byte_bpe(const TokenizerFile& file) {
  return file.type_of("model") == "BPE" &&
         (file.type_of("pre_tokenizer") == "ByteLevel" || file.type_of("decoder") == "ByteLevel");
}

std::unique_ptr<Tokenizer> read_byte_bpe(const TokenizerFile& file) {
  file.require_type("normalizer", {"null"});
  file.require_type("pre_tokenizer", {"ByteLevel"});
  file.require_type("decoder", {"ByteLevel"});
  file.require_option("dropout", 0);
  file.require_option("continuing_subword_prefix", "");
  file.require_option("end_of_word_suffix", "");
  file.require_option("byte_fallback", false);
  file.require_option("unk_token", nullptr);
  const Json& pre_tokenizer = file.component("pre_tokenizer");
  return std::make_unique<ByteBpe>(
      file, Options{.add_prefix_space = pre_tokenizer["add_prefix_space"].as_flag().value_or(true),
                    .cut_words = pre_tokenizer["use_regex"].as_flag().value_or(true),
                    .ignore_merges = file.model()["ignore_merges"].as_flag().value_or(false)});
}

std::string byte_bpe_json(const std::vector<std::string>& pieces,
                          const std::vector<std::string>& merges,
                          const std::vector<AddedToken>& added_tokens) {
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", false},
                           {"use_regex", true}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocabulary_json(pieces)},
                      {"merges", merges}};
  return write_tokenizer_json({.pre_tokenizer = byte_level,
                               .post_processor = byte_level,
                               .decoder = byte_level,
                               .model = model,
                               .added_tokens = added_tokens});
}

}  // namespace heed
