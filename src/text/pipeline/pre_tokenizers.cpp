// The pre-tokenisers of `tokenizer.json`, by their `type`.
#include <fmt/format.h>

#include "text/pipeline/pattern.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/pipeline/words.h"

namespace heed {
namespace {

class PreTokenizerChain final : public PreTokenizer {
 public:
  explicit PreTokenizerChain(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  void cut(const Piece& piece, Arena& arena, std::vector<Piece>& out) const override {
    std::vector<Piece> pieces = {piece};
    for (const auto& part : parts_) {
      std::vector<Piece> cut;
      for (const Piece& one : pieces) part->cut(one, arena, cut);
      pieces = std::move(cut);
    }
    out.insert(out.end(), pieces.begin(), pieces.end());
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

/// Splits GPT-2's words. `TokenizerFile::is_of_bytes` says that the model's pieces are bytes.
class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool cut_words)
      : add_prefix_space_(add_prefix_space), cut_words_(cut_words) {}

  void cut(const Piece& piece, Arena& arena, std::vector<Piece>& out) const override {
    if (add_prefix_space_ && !piece.text.starts_with(' ')) {
      Rewrite rewrite(piece, arena);
      rewrite.put_in_front(" ");
      rewrite.keep(0, piece.text.size());
      return cut_prefixed(rewrite.finish(), out);
    }
    cut_prefixed(piece, out);
  }

 private:
  void cut_prefixed(const Piece& piece, std::vector<Piece>& out) const {
    for (std::size_t begin = 0; begin < piece.text.size();) {
      const std::size_t end = cut_words_ ? gpt2_word_end(piece.text, begin) : piece.text.size();
      out.push_back(piece.slice(begin, end));
      begin = end;
    }
  }
  bool add_prefix_space_;
  bool cut_words_;
};

/// Replaces each space by a mark and puts one in front; words begin at marks.
class MetaspaceWords final : public PreTokenizer {
 public:
  explicit MetaspaceWords(Metaspace options) : options_(std::move(options)) {}

  void cut(const Piece& piece, Arena& arena, std::vector<Piece>& out) const override {
    const Piece marked = with_marks(piece, arena);
    std::size_t begin = 0;
    if (options_.split)
      for (std::size_t at = marked.text.find(options_.mark, 1); at != std::string_view::npos;
           at = marked.text.find(options_.mark, at + 1)) {
        out.push_back(marked.slice(begin, at));
        begin = at;
      }
    if (begin < marked.text.size()) out.push_back(marked.slice(begin, marked.text.size()));
  }

 private:
  Piece with_marks(const Piece& piece, Arena& arena) const {
    Rewrite rewrite(piece, arena);
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      if (piece.text[i] == ' ') {
        rewrite.put(options_.mark, i, i + 1);
      } else {
        rewrite.keep(i, i + 1);
      }
    }
    const Piece marked = rewrite.finish();
    const bool wanted = options_.prepend == Metaspace::Prepend::kAlways ||
                        (options_.prepend == Metaspace::Prepend::kFirst && !piece.text.empty() &&
                         piece.span(0, 1).begin == 0);
    if (!wanted || marked.text.empty() || marked.text.starts_with(options_.mark)) return marked;
    return prepended(marked, options_.mark, arena);
  }
  Metaspace options_;
};

std::unique_ptr<PreTokenizer> read_pre_tokenizers(const TokenizerFile& file,
                                                  const Json& component) {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  const auto list = file.list(component["pretokenizers"], "pre_tokenizer.pretokenizers");
  for (const Json& part : list) {
    if (part["type"] == Json("ByteLevel") && &part != &list.back())
      file.refuse_type(part, "a part of pre_tokenizer.pretokenizers before the last",
                       "one that leaves characters as they are");
    if (auto pre_tokenizer = read_pre_tokenizer(file, part))
      parts.push_back(std::move(pre_tokenizer));
  }
  return std::make_unique<PreTokenizerChain>(std::move(parts));
}

std::unique_ptr<PreTokenizer> read_byte_level(const TokenizerFile&, const Json& component) {
  return std::make_unique<ByteLevel>(component["add_prefix_space"].as_flag().value_or(true),
                                     component["use_regex"].as_flag().value_or(true));
}

std::unique_ptr<PreTokenizer> read_metaspace_words(const TokenizerFile& file,
                                                   const Json& component) {
  return std::make_unique<MetaspaceWords>(read_metaspace(file, component, "pre_tokenizer"));
}

constexpr ComponentReader<PreTokenizer> kPreTokenizers[] = {
    {"BertPreTokenizer", read_bert_pre_tokenizer},
    {"ByteLevel", read_byte_level},
    {"CharDelimiterSplit", read_delimiter},
    {"Digits", read_digits},
    {"Metaspace", read_metaspace_words},
    {"Punctuation", read_punctuation},
    {"Sequence", read_pre_tokenizers},
    {"Split", read_split},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
};

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const TokenizerFile& file, const Json& component) {
  return read_component<PreTokenizer>(file, component, "pre_tokenizer", kPreTokenizers);
}

Metaspace read_metaspace(const TokenizerFile& file, const Json& component, std::string_view of) {
  Metaspace options;
  if (!component["replacement"].is_null())
    options.mark = file.text_of(component["replacement"], fmt::format("{}.replacement", of));
  if (options.mark.empty())
    file.refuse(component["replacement"], fmt::format("{}.replacement", of), "one character");
  options.split = component["split"].as_flag().value_or(true);
  const Json& scheme = component["prepend_scheme"];
  const bool prefixed = component["add_prefix_space"].as_flag().value_or(true);  // older files
  const std::string name = scheme.is_text() ? *scheme.as_text() : prefixed ? "always" : "never";
  if (name == "first") {
    options.prepend = Metaspace::Prepend::kFirst;
  } else if (name == "never") {
    options.prepend = Metaspace::Prepend::kNever;
  } else if (name != "always") {
    file.refuse(scheme, fmt::format("{}.prepend_scheme", of), "always, first or never",
                ErrorCode::kUnsupported);
  }
  return options;
}

}  // namespace heed
