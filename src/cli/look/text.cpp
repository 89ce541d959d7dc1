#include "cli/look/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>

#include "base/wording.h"
#include "heed/tokenizer.h"
#include "inspect/rows/lines.h"
#include "inspect/rows/words.h"
#include "inspect/session/places.h"
#include "inspect/session/session_input.h"

namespace heed::cli {
namespace {

constexpr int kLongestToken = 16;  // cells
constexpr int kNextWordColumn = 6;
constexpr int kNextWordCells = 8;

std::string model_line(const Terminal& terminal, const Look& look) {
  const ModelInfo& info = look.info;
  std::string shape = fmt::format("{}, {} x {}", info.title, number_of(info.layers, "layer"),
                                  number_of(info.heads, "head"));
  for (const StackShape& stack : info.stacks)
    if (stack.stack == look.chosen.stack)
      shape = fmt::format(
          "{}, {}{}", info.title,
          stack.stack == Stack::kSelf ? "" : std::string(stack_name(stack.stack)) + ": ",
          heads_text(stack));
  if (info.kv_heads != info.heads) shape += fmt::format(" on {} kv", info.kv_heads);
  if (look.built_in) shape += ", built in";
  const std::string tokens = number_of(look.tokens.size(), "token");
  const std::string_view mark = terminal.utf8 ? "…" : "~";
  const int room = terminal.width - cell_width(tokens) - 2;
  const std::string name = truncated(look.model, room - 2, mark);
  Line line(terminal);
  line.put(name, Style::kBold).to(line.column() + 2);
  if (room - line.column() > 0) line.put(truncated(shape, room - line.column(), mark), Style::kDim);
  return line.right(terminal.width, tokens, Style::kDim).str();
}

std::string bytes_note(const Terminal& terminal, const Look& look) {
  if (!are_mostly_parts_of_characters(look.tokens)) return {};
  return paragraph(
      terminal,
      "most tokens are single bytes: this model's vocabulary lacks most characters of this "
      "text",
      0);
}

std::string words_text(const Terminal& terminal, const NextWords& next) {
  std::string text;
  std::vector<std::string> words;
  int widest = kNextWordCells;
  for (const NextWord& word : next.words) {
    words.push_back(TokenNames::shown(terminal, word.bytes));
    widest = std::max(widest, cell_width(words.back()));
  }
  const int weight_end = kNextWordColumn + widest + 1 + 5;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double probability = next.words[i].probability;
    const Style style = probability >= 0.3 ? Style::kBold : Style::kPlain;
    Line line(terminal);
    line.to(kNextWordColumn).put(words[i], style);
    line.right(weight_end, weight_text(probability), style).to(weight_end + 1);
    line.put(bar(terminal, probability, terminal.width - weight_end - 1), Style::kBar);
    text += line.str();
  }
  if (next.rest_count == 0) return text;
  const std::string rest = fmt::format("+{} in {}", weight_text(next.rest_probability),
                                       number_of(next.rest_count, "other"));
  return text + Line(terminal).to(kNextWordColumn).put(rest, Style::kDim).str();
}

std::string filled_text(const Terminal& terminal, const Look& look) {
  std::string text;
  for (const FilledMask& mask : look.filled) {
    const auto& token = look.tokens[static_cast<std::size_t>(mask.at)];
    if (!text.empty()) text += "\n";
    text += heading(terminal, "In its place",
                    fmt::format("{} {}", TokenNames::shown(terminal, token.bytes), mask.at));
    text += words_text(terminal, mask.words);
  }
  return text;
}

std::string next_text(const Terminal& terminal, const Look& look) {
  if (!look.filled.empty()) return filled_text(terminal, look);
  if (look.next.words.empty())
    return heading(terminal, "Next word",
                   look.info.vocabulary == 0  ? "unknown: the session has only attention"
                   : look.info.reads_source() ? "none: the encoder only reads"
                                              : "none: this model writes no text");
  const std::string last = TokenNames::shown(terminal, look.tokens.back().bytes);
  return heading(terminal, "Next word", fmt::format("after \"{}\"", last)) +
         words_text(terminal, look.next);
}

// A piece of a word as `B[ob]`.
std::vector<std::string> names_of(const Terminal& terminal, std::span<const SessionToken> tokens) {
  const std::vector<WordPiece> pieces = pieces_of_words(tokens);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const auto& [word, begin, end] = pieces[at];
    std::string text = word.empty() ? tokens[at].bytes : word;
    if (!word.empty()) text.insert(end, "]").insert(begin, "[");
    names.push_back(TokenNames::shown(terminal, text));
  }
  return names;
}

}  // namespace

TokenNames::TokenNames(const Terminal& terminal, const Look& look)
    : writes_(look.info.reads_source() && look.chosen.stack == Stack::kCross &&
              look.units.empty()) {
  queries_ = names_of(terminal, look.tokens);
  keys_ = names_of(terminal, look.keys());
  std::map<std::string, int> times;
  if (look.units.empty())
    for (const std::string& key : keys_) ++times[key];
  for (std::size_t unit = 0; unit < look.units.size(); ++unit) {
    const auto first = static_cast<std::size_t>(look.units[unit]);
    const auto end = static_cast<std::size_t>(unit_end(look.units, unit, std::ssize(look.tokens)));
    std::string bytes;
    for (std::size_t token = first; token < end; ++token) bytes += look.tokens[token].bytes;
    queries_[first] = keys_[first] = shown(terminal, bytes);
    ++times[keys_[first]];
  }
  for (std::size_t i = 0; i < keys_.size(); ++i)
    marks_.push_back(times[keys_[i]] > 1 ? fmt::format(" {}", i) : "");
}

const std::string& TokenNames::query(std::int64_t index) const {
  return queries_[static_cast<std::size_t>(index)];
}

std::string_view TokenNames::written(std::int64_t query) const {
  const auto next = static_cast<std::size_t>(query) + 1;
  return writes_ && next < queries_.size() ? std::string_view(queries_[next]) : "";
}

const std::string& TokenNames::key(std::int64_t index) const {
  return keys_[static_cast<std::size_t>(index)];
}

const std::string& TokenNames::mark(std::int64_t key) const {
  return marks_[static_cast<std::size_t>(key)];
}

int TokenNames::width(std::int64_t key) const {
  return cell_width(keys_[static_cast<std::size_t>(key)]) + cell_width(mark(key));
}

std::string TokenNames::quoted(const std::string& shown) {
  const bool is_word = std::ranges::any_of(shown, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return std::isalnum(byte) != 0 || byte >= 0x80;
  });
  const bool is_mark = shown == "␣" || shown == "⏎";
  return is_word && !is_mark ? shown : fmt::format("\"{}\"", shown);
}

std::string TokenNames::shown(const Terminal& terminal, const std::string& bytes) {
  const std::size_t begin = bytes.find_first_not_of(' ');
  if (begin == std::string::npos) return terminal.utf8 ? "␣" : "' '";
  const std::size_t end = bytes.find_last_not_of(' ') + 1;
  const std::string text =
      replaced(bytes.substr(begin, end - begin), {{'\n', terminal.utf8 ? "⏎" : "\\n"}});
  return truncated(displayable(text), kLongestToken, terminal.utf8 ? "…" : "~");
}

std::string look_text(const Terminal& terminal, const Look& look, const LookTextOptions& options) {
  return model_line(terminal, look) + bytes_note(terminal, look) + "\n" +
         rows_text(terminal, look, options) + "\n" + heads_text(terminal, look) + "\n" +
         next_text(terminal, look);
}

}  // namespace heed::cli
