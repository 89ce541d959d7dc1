#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "cli/look/ranking.h"
#include "cli/look/text.h"

namespace heed::cli {
namespace {

constexpr double kBoldFrom = 0.5;
constexpr int kLayerEnd = 6;    // layer numbers end here
constexpr int kWidePitch = 11;  // `induc .26` and a gap
constexpr int kGap = 2;
constexpr int kWideColumn = 9;  // H0 begins here
constexpr int kNarrowColumn = 8;

std::string written(const NamedScore& score, bool wide) {
  const std::string name = score.value < kNamedFrom ? "-"
                           : wide                   ? score.name
                                                    : std::string(1, score.letter);
  return fmt::format("{:<{}} {}", name, wide ? 5 : 1, hundredths(score.value));
}

void put(Line& line, const Terminal& terminal, const HeadEntry& entry, int at, bool wide) {
  const std::string& text = wide ? entry.wide : entry.narrow;
  if (entry.chosen && !terminal.colour) {
    line.to(at - 1).put(fmt::format("[{}]", text));
    return;
  }
  const Style style = entry.bold ? Style::kBold : Style::kPlain;
  line.to(at).put(text, entry.chosen ? Style::kReverse : style);
}

// The heads [begin, end) of every layer.
std::string band(const Terminal& terminal, const HeadsTable& table, int begin, int end, bool wide) {
  const int column = wide ? kWideColumn : kNarrowColumn;
  const int pitch = wide ? kWidePitch : table.narrow_cells + kGap;
  Line line(terminal);
  line.right(kLayerEnd, "layer", Style::kDim);
  for (int head = begin; head < end; ++head)
    line.to(column + (head - begin) * pitch).put(fmt::format("H{}", head), Style::kDim);
  std::string text = line.str();
  const auto heads = static_cast<std::size_t>(table.heads);
  for (std::size_t row = 0; row * heads < table.entries.size(); ++row) {
    line = Line(terminal);
    line.right(kLayerEnd, std::to_string(table.entries[row * heads].layer), Style::kDim);
    for (int head = begin; head < end; ++head)
      put(line, terminal, table.entries[row * heads + static_cast<std::size_t>(head)],
          column + (head - begin) * pitch, wide);
    text += line.str();
  }
  return text;
}

}  // namespace

HeadEntry head_entry(int layer, std::span<const NamedScore> scores, bool chosen) {
  const NamedScore& largest = *std::ranges::max_element(scores, {}, &NamedScore::value);
  return {layer, written(largest, true), written(largest, false), largest.value >= kBoldFrom,
          chosen};
}

HeadEntry head_entry(int layer, double first, double second, bool chosen) {
  const std::string text = fmt::format("{} {}", hundredths(first), hundredths(second));
  return {layer, text, text, first >= kBoldFrom, chosen};
}

std::string head_name(int layer, int head) { return fmt::format("L{}.H{}", layer, head); }

std::string heads_table(const Terminal& terminal, const HeadsTable& table) {
  const bool wide = kWideColumn + table.heads * kWidePitch - 1 <= terminal.width + 1;
  const int a_band =
      wide ? table.heads
           : std::max(1, (terminal.width - kNarrowColumn + 1) / (table.narrow_cells + kGap));
  const std::string explanation =
      wide || table.legend.empty() ? table.explanation : joined(table.legend, "  ");
  const bool marks = !terminal.colour && std::ranges::any_of(table.entries, &HeadEntry::chosen);
  std::string text =
      heading(terminal, table.title, explanation + table.note + (marks ? "; [ ] chosen" : ""));
  for (int begin = 0; begin < table.heads; begin += a_band)
    text += band(terminal, table, begin, std::min(table.heads, begin + a_band), wide);
  return text;
}

namespace {

// In the shown stack.
int heads_of(const Look& look) {
  for (const StackShape& stack : look.info.stacks)
    if (stack.stack == look.chosen.stack) return stack.heads;
  return static_cast<int>(look.info.heads);
}

bool is_chosen(const Look& look, const HeadScores& head) {
  return head.place == Place{look.chosen.stack, look.chosen.layer, look.chosen.head};
}

// A letter for each score: the first of its name not used by an earlier score.
std::string letters_of(std::span<const ScoreInfo> scores) {
  std::string letters;
  for (const ScoreInfo& info : scores) {
    const std::size_t at = info.name.find_first_not_of(letters);
    letters += info.is_share && at < info.name.size() ? info.name[at] : ' ';
  }
  return letters;
}

// Empty for a session without images.
std::string image_heads_text(const Terminal& terminal, const Look& look) {
  if (std::ranges::none_of(look.keys(), &SessionToken::of_image)) return "";
  HeadsTable table{.title = "Heads on images",
                   .explanation = "mean weight on images; how evenly it is spread, 1 is even",
                   .legend = {},
                   .heads = heads_of(look),
                   .narrow_cells = 7};
  for (const HeadScores& head : look.heads)
    if (head.place.stack == look.chosen.stack)
      table.entries.push_back(head_entry(head.place.layer, head.of("image"),
                                         head.of("image_spread"), is_chosen(look, head)));
  return "\n" + heads_table(terminal, table);
}

// What the page's chips say of them: scores by distance mean nothing between two texts.
std::string cross_heads_text(const Terminal& terminal, const Look& look) {
  HeadsTable table{.title = "Heads",
                   .explanation =
                       "in order: mean weight of token i on token i; peak: mean largest "
                       "weight of a row",
                   .legend = {},
                   .heads = heads_of(look),
                   .narrow_cells = 7};
  for (const HeadScores& head : look.heads)
    if (head.place.stack == look.chosen.stack && head.order)
      table.entries.push_back(head_entry(head.place.layer, head.order->in_order, head.order->peak,
                                         is_chosen(look, head)));
  return heads_table(terminal, table);
}

}  // namespace

std::string heads_text(const Terminal& terminal, const Look& look) {
  const std::string images = image_heads_text(terminal, look);
  if (look.chosen.stack == Stack::kCross) return cross_heads_text(terminal, look) + images;
  HeadsTable table{.title = "Heads",
                   .explanation = "largest score of each, mean over rows",
                   .legend = {},
                   .note = kNoName,
                   .heads = heads_of(look)};
  const std::string letters = letters_of(score_infos());
  const auto shown = [&](const ScoreInfo& info) {
    return info.is_share && !(info.looks_ahead && look.info.causal);
  };
  for (const HeadScores& head : look.heads) {
    if (head.place.stack != look.chosen.stack) continue;
    std::vector<NamedScore> scores;
    for (std::size_t i = 0; i < letters.size(); ++i)
      if (const ScoreInfo& info = score_infos()[i]; shown(info) && !std::isnan(head.values[i]))
        scores.push_back({info.short_name.data(), letters[i], head.values[i]});
    table.entries.push_back(head_entry(head.place.layer, scores, is_chosen(look, head)));
  }
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto has_letter = [&](const HeadEntry& entry) { return entry.narrow[0] == letters[i]; };
    if (std::ranges::any_of(table.entries, has_letter))
      table.legend.push_back(fmt::format("{} {}", letters[i], score_infos()[i].name));
  }
  return heads_table(terminal, table) + images;
}

}  // namespace heed::cli
