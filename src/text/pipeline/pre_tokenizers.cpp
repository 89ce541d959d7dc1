// The pre-tokenisers of `tokenizer.json`, by their `type`.
#include <fmt/format.h>

#include "text/pipeline/pattern.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/pipeline/words.h"

namespace heed {
namespace {

// Cuts GPT-2's words, or leaves the piece whole.
void cut_bytes(const Piece& piece, bool cut_words, std::vector<Piece>& out) {
  for (std::size_t begin = 0; begin < piece.text.size();) {
    const std::size_t end = cut_words ? gpt2_word_end(piece.text, begin) : piece.text.size();
    out.push_back(piece.slice(begin, end));
    begin = end;
  }
}

// `TokenizerFile::is_of_bytes` says that the model's pieces are bytes.
PreTokenizer read_byte_level(const TokenizerFile&, const Json& component) {
  const bool add_prefix_space = component["add_prefix_space"].as_flag().value_or(true);
  const bool cut_words = component["use_regex"].as_flag().value_or(true);
  return [=](const Piece& piece, Arena& arena, std::vector<Piece>& out) {
    if (!add_prefix_space || piece.text.starts_with(' ')) return cut_bytes(piece, cut_words, out);
    Rewrite rewrite(piece, arena);
    rewrite.put_in_front(" ");
    rewrite.keep(0, piece.text.size());
    cut_bytes(rewrite.finish(), cut_words, out);
  };
}

Piece with_marks(const Metaspace& options, const Piece& piece, Arena& arena) {
  Rewrite rewrite(piece, arena);
  for (std::size_t i = 0; i < piece.text.size(); ++i) {
    if (piece.text[i] == ' ') {
      rewrite.put(options.mark, i, i + 1);
    } else {
      rewrite.keep(i, i + 1);
    }
  }
  const Piece marked = rewrite.finish();
  const bool wanted = options.prepend == Metaspace::Prepend::kAlways ||
                      (options.prepend == Metaspace::Prepend::kFirst && !piece.text.empty() &&
                       piece.span(0, 1).begin == 0);
  if (!wanted || marked.text.empty() || marked.text.starts_with(options.mark)) return marked;
  return prepended(marked, options.mark, arena);
}

// Replaces each space by a mark and puts one in front; words begin at marks.
PreTokenizer read_metaspace_words(const TokenizerFile& file, const Json& component) {
  return [options = read_metaspace(file, component, "pre_tokenizer")](
             const Piece& piece, Arena& arena, std::vector<Piece>& out) {
    const Piece marked = with_marks(options, piece, arena);
    std::size_t begin = 0;
    if (options.split)
      for (std::size_t at = marked.text.find(options.mark, 1); at != std::string_view::npos;
           at = marked.text.find(options.mark, at + 1)) {
        out.push_back(marked.slice(begin, at));
        begin = at;
      }
    if (begin < marked.text.size()) out.push_back(marked.slice(begin, marked.text.size()));
  };
}

PreTokenizer read_pre_tokenizers(const TokenizerFile& file, const Json& component) {
  std::vector<PreTokenizer> parts;
  const auto list = file.list(component["pretokenizers"], "pre_tokenizer.pretokenizers");
  for (const Json& part : list) {
    if (part["type"] == Json("ByteLevel") && &part != &list.back())
      file.refuse_type(part, "a part of pre_tokenizer.pretokenizers before the last",
                       "one that leaves characters as they are");
    if (PreTokenizer cut = read_pre_tokenizer(file, part)) parts.push_back(std::move(cut));
  }
  return cut_in_turn(std::move(parts));
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

PreTokenizer cut_in_turn(std::vector<PreTokenizer> parts) {
  return [parts = std::move(parts)](const Piece& piece, Arena& arena, std::vector<Piece>& out) {
    std::vector<Piece> pieces = {piece};
    for (const PreTokenizer& part : parts) {
      std::vector<Piece> cut;
      for (const Piece& one : pieces) part(one, arena, cut);
      pieces = std::move(cut);
    }
    out.insert(out.end(), pieces.begin(), pieces.end());
  };
}

PreTokenizer read_pre_tokenizer(const TokenizerFile& file, const Json& component) {
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
