// The pre-tokenisers of `tokenizer.json`, by their `type`.
#include <fmt/format.h>

#include <algorithm>

#include "text/pipeline/pattern.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

// `TokenizerFile::is_of_bytes` says that the model's pieces are bytes.
PreTokenizer read_byte_level(const TokenizerFile&, const Json& component) {
  const bool add_prefix_space = component["add_prefix_space"].as_flag().value_or(true);
  const Pattern words =
      component["use_regex"].as_flag().value_or(true) ? read_regex(kGpt2Words) : Pattern();
  return [=](const Piece& piece, Arena& arena, std::vector<Piece>& out) {
    Piece whole = piece;
    if (add_prefix_space && !piece.text.starts_with(' ')) {
      Rewrite rewrite(piece, arena);
      rewrite.put_in_front(" ");
      rewrite.keep(0, piece.text.size());
      whole = rewrite.finish();
    }
    if (!words && !whole.text.empty()) out.push_back(whole);
    if (!words) return;
    for (const auto& [begin, end] : words(whole.text)) out.push_back(whole.slice(begin, end));
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

// Cuts the pieces of each part with the next one.
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

enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// A part of the text; the parts have no gaps.
struct Stretch {
  PatternMatch range;
  bool match = false;
};

void add(std::vector<Stretch>& out, std::size_t begin, std::size_t end, bool match) {
  if (begin < end) out.push_back({{begin, end}, match});
}

void join_equal(std::vector<Stretch>& stretches) {
  std::vector<Stretch> joined;
  for (const Stretch& stretch : stretches) {
    if (!joined.empty() && joined.back().match == stretch.match) {
      joined.back().range.end = stretch.range.end;
    } else {
      joined.push_back(stretch);
    }
  }
  stretches = std::move(joined);
}

// A match joins the part before it, or after it, unless that part is a match too.
void join_matches(std::vector<Stretch>& stretches, bool to_next) {
  if (to_next) std::ranges::reverse(stretches);
  std::vector<Stretch> joined;
  bool beside_match = false;
  for (const auto& [range, match] : stretches) {
    if (match && !beside_match && !joined.empty()) {
      PatternMatch& whole = joined.back().range;
      whole = {std::min(whole.begin, range.begin), std::max(whole.end, range.end)};
    } else {
      joined.push_back({range, match});
    }
    beside_match = match;
  }
  if (to_next) std::ranges::reverse(joined);
  stretches = std::move(joined);
}

void emit(const Piece& piece, std::vector<Stretch> stretches, Behavior behavior,
          std::vector<Piece>& out) {
  if (behavior == Behavior::kContiguous) join_equal(stretches);
  if (behavior == Behavior::kMergedWithPrevious) join_matches(stretches, /*to_next=*/false);
  if (behavior == Behavior::kMergedWithNext) join_matches(stretches, /*to_next=*/true);
  for (const Stretch& stretch : stretches)
    if (behavior != Behavior::kRemoved || !stretch.match)
      out.push_back(piece.slice(stretch.range.begin, stretch.range.end));
}

void isolate(const Piece& piece, const std::vector<PatternMatch>& matches,
             std::vector<Piece>& out) {
  std::size_t done = 0;
  for (const auto& [begin, end] : matches) {
    if (begin > done) out.push_back(piece.slice(done, begin));
    out.push_back(piece.slice(begin, end));
    done = end;
  }
  if (done < piece.text.size()) out.push_back(piece.slice(done, piece.text.size()));
}

PreTokenizer split(Pattern pattern, Behavior behavior, bool invert) {
  return [=, pattern = std::move(pattern)](const Piece& piece, Arena&, std::vector<Piece>& out) {
    const std::vector<PatternMatch> matches = pattern(piece.text);
    if (behavior == Behavior::kIsolated) return isolate(piece, matches, out);
    std::vector<Stretch> stretches;
    std::size_t done = 0;
    for (const auto& [begin, end] : matches) {
      add(stretches, done, begin, invert);
      add(stretches, begin, end, !invert);
      done = end;
    }
    add(stretches, done, piece.text.size(), invert);
    emit(piece, std::move(stretches), behavior, out);
  };
}

// Every character for which `is` is true is a match.
PreTokenizer split_at(bool (*is)(char32_t), Behavior behavior) {
  const Pattern pattern = [is](std::string_view text) {
    std::vector<PatternMatch> matches;
    for (std::size_t i = 0; i < text.size();) {
      const Character character = character_at(text, i);
      if (is(character.code)) matches.push_back({i, i + character.bytes});
      i += character.bytes;
    }
    return matches;
  };
  return split(pattern, behavior, /*invert=*/false);
}

// \w+|[^\w\s]+
void cut_words_and_signs(const Piece& piece, Arena& /*arena*/, std::vector<Piece>& out) {
  enum class Kind { kSpace, kWord, kSign };
  std::size_t begin = 0;
  Kind kind = Kind::kSpace;
  const auto end_at = [&](std::size_t end) {
    if (kind != Kind::kSpace && begin < end) out.push_back(piece.slice(begin, end));
    begin = end;
  };
  for (std::size_t i = 0; i < piece.text.size();) {
    const Character character = character_at(piece.text, i);
    const Kind next = is_word_character(character.code) ? Kind::kWord
                      : is_space(character.code)        ? Kind::kSpace
                                                        : Kind::kSign;
    if (next != kind) end_at(i);
    kind = next;
    i += character.bytes;
  }
  end_at(piece.text.size());
}

Behavior read_behavior(const TokenizerFile& file, const Json& value) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  if (const std::string* name = value.as_text())
    for (const auto& [known, behavior] : kNames)
      if (known == *name) return behavior;
  file.refuse(value, "pre_tokenizer.behavior",
              "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
              ErrorCode::kUnsupported);
}

bool is_delimiter(const Json& value) {
  const std::string* text = value.as_text();
  return text != nullptr && !text->empty() && character_at(*text, 0).bytes == text->size();
}

PreTokenizer read_split(const TokenizerFile& file, const Json& component) {
  return split(read_pattern(file, component["pattern"], "pre_tokenizer.pattern"),
               read_behavior(file, component["behavior"]),
               component["invert"].as_flag().value_or(false));
}

PreTokenizer read_delimiter(const TokenizerFile& file, const Json& component) {
  const Json& delimiter = component["delimiter"];
  if (!is_delimiter(delimiter)) file.refuse(delimiter, "pre_tokenizer.delimiter", "one character");
  return split(read_pattern(file, {{"String", *delimiter.as_text()}}, "pre_tokenizer.delimiter"),
               Behavior::kRemoved, false);
}

PreTokenizer read_digits(const TokenizerFile&, const Json& component) {
  const bool individual = component["individual_digits"].as_flag().value_or(false);
  return split_at(is_number, individual ? Behavior::kIsolated : Behavior::kContiguous);
}

PreTokenizer read_punctuation(const TokenizerFile& file, const Json& component) {
  const Json& behavior = component["behavior"];
  return split_at(is_library_punctuation,
                  behavior.is_null() ? Behavior::kIsolated : read_behavior(file, behavior));
}

PreTokenizer read_whitespace(const TokenizerFile&, const Json&) { return cut_words_and_signs; }

PreTokenizer read_whitespace_split(const TokenizerFile&, const Json&) {
  return split_at(is_space, Behavior::kRemoved);
}

// Removes white space and separates punctuation.
PreTokenizer read_bert_pre_tokenizer(const TokenizerFile&, const Json&) {
  return cut_in_turn({split_at(is_space, Behavior::kRemoved),
                      split_at(is_library_punctuation, Behavior::kIsolated)});
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
