// The pre-tokenisers that split at matches: of a pattern, or of a kind of character.
#include <algorithm>

#include "text/pipeline/pattern.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

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

// A match joins the part before it, unless that ends in a match too.
void join_previous(std::vector<Stretch>& stretches) {
  std::vector<Stretch> joined;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.match && !after_match && !joined.empty()) {
      joined.back().range.end = stretch.range.end;
    } else {
      joined.push_back(stretch);
    }
    after_match = stretch.match;
  }
  stretches = std::move(joined);
}

void join_next(std::vector<Stretch>& stretches) {
  std::vector<Stretch> joined;
  bool before_match = false;
  for (auto at = stretches.rbegin(); at != stretches.rend(); ++at) {
    if (at->match && !before_match && !joined.empty()) {
      joined.back().range.begin = at->range.begin;
    } else {
      joined.push_back(*at);
    }
    before_match = at->match;
  }
  std::ranges::reverse(joined);
  stretches = std::move(joined);
}

void emit(const Piece& piece, std::vector<Stretch> stretches, Behavior behavior,
          std::vector<Piece>& out) {
  if (behavior == Behavior::kContiguous) join_equal(stretches);
  if (behavior == Behavior::kMergedWithPrevious) join_previous(stretches);
  if (behavior == Behavior::kMergedWithNext) join_next(stretches);
  for (const Stretch& stretch : stretches)
    if (behavior != Behavior::kRemoved || !stretch.match)
      out.push_back(piece.slice(stretch.range.begin, stretch.range.end));
}

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void cut(const Piece& piece, Arena& /*arena*/, std::vector<Piece>& out) const override {
    const std::vector<PatternMatch> matches = pattern_->matches(piece.text);
    if (behavior_ == Behavior::kIsolated) return isolate(piece, matches, out);
    std::vector<Stretch> stretches;
    std::size_t done = 0;
    for (const auto& [begin, end] : matches) {
      add(stretches, done, begin, invert_);
      add(stretches, begin, end, !invert_);
      done = end;
    }
    add(stretches, done, piece.text.size(), invert_);
    emit(piece, std::move(stretches), behavior_, out);
  }

 private:
  static void isolate(const Piece& piece, const std::vector<PatternMatch>& matches,
                      std::vector<Piece>& out) {
    std::size_t done = 0;
    for (const auto& [begin, end] : matches) {
      if (begin > done) out.push_back(piece.slice(done, begin));
      out.push_back(piece.slice(begin, end));
      done = end;
    }
    if (done < piece.text.size()) out.push_back(piece.slice(done, piece.text.size()));
  }

  std::unique_ptr<Pattern> pattern_;
  Behavior behavior_;
  bool invert_;
};

/// Every character for which `is` is true is a match.
class CharacterSplit final : public PreTokenizer {
 public:
  CharacterSplit(bool (*is)(char32_t), Behavior behavior) : is_(is), behavior_(behavior) {}

  void cut(const Piece& piece, Arena& /*arena*/, std::vector<Piece>& out) const override {
    std::vector<Stretch> stretches;
    std::size_t done = 0;
    for (std::size_t i = 0; i < piece.text.size();) {
      const Character character = character_at(piece.text, i);
      if (is_(character.code)) {
        add(stretches, done, i, false);
        done = i + character.bytes;
        add(stretches, i, done, true);
      }
      i += character.bytes;
    }
    add(stretches, done, piece.text.size(), false);
    emit(piece, std::move(stretches), behavior_, out);
  }

 private:
  bool (*is_)(char32_t);
  Behavior behavior_;
};

/// \w+|[^\w\s]+
class Words final : public PreTokenizer {
 public:
  void cut(const Piece& piece, Arena& /*arena*/, std::vector<Piece>& out) const override {
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
};

/// Removes white space and separates punctuation.
class BertWords final : public PreTokenizer {
 public:
  void cut(const Piece& piece, Arena& arena, std::vector<Piece>& out) const override {
    std::vector<Piece> words;
    spaces_.cut(piece, arena, words);
    for (const Piece& word : words) punctuation_.cut(word, arena, out);
  }

 private:
  CharacterSplit spaces_{is_space, Behavior::kRemoved};
  CharacterSplit punctuation_{is_library_punctuation, Behavior::kIsolated};
};

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

}  // namespace

std::unique_ptr<PreTokenizer> read_split(const TokenizerFile& file, const Json& component) {
  return std::make_unique<Split>(read_pattern(file, component["pattern"], "pre_tokenizer.pattern"),
                                 read_behavior(file, component["behavior"]),
                                 component["invert"].as_flag().value_or(false));
}

std::unique_ptr<PreTokenizer> read_delimiter(const TokenizerFile& file, const Json& component) {
  const Json& delimiter = component["delimiter"];
  if (!is_delimiter(delimiter)) file.refuse(delimiter, "pre_tokenizer.delimiter", "one character");
  return std::make_unique<Split>(
      read_pattern(file, {{"String", *delimiter.as_text()}}, "pre_tokenizer.delimiter"),
      Behavior::kRemoved, false);
}

std::unique_ptr<PreTokenizer> read_digits(const TokenizerFile&, const Json& component) {
  const bool individual = component["individual_digits"].as_flag().value_or(false);
  return std::make_unique<CharacterSplit>(is_number,
                                          individual ? Behavior::kIsolated : Behavior::kContiguous);
}

std::unique_ptr<PreTokenizer> read_punctuation(const TokenizerFile& file, const Json& component) {
  const Json& behavior = component["behavior"];
  return std::make_unique<CharacterSplit>(
      is_library_punctuation,
      behavior.is_null() ? Behavior::kIsolated : read_behavior(file, behavior));
}

std::unique_ptr<PreTokenizer> read_whitespace(const TokenizerFile&, const Json&) {
  return std::make_unique<Words>();
}

std::unique_ptr<PreTokenizer> read_whitespace_split(const TokenizerFile&, const Json&) {
  return std::make_unique<CharacterSplit>(is_space, Behavior::kRemoved);
}

std::unique_ptr<PreTokenizer> read_bert_pre_tokenizer(const TokenizerFile&, const Json&) {
  return std::make_unique<BertWords>();
}

}  // namespace heed
