#include "cli/look/heads_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number_of.h"

namespace heed::cli {
namespace {

constexpr double kBoldFrom = 0.5;
constexpr int kLayerEnd = 6;    // layer numbers end at this cell
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
  for (std::size_t layer = 0; layer * heads < table.entries.size(); ++layer) {
    line = Line(terminal);
    line.right(kLayerEnd, std::to_string(layer), Style::kDim);
    for (int head = begin; head < end; ++head)
      put(line, terminal, table.entries[layer * heads + static_cast<std::size_t>(head)],
          column + (head - begin) * pitch, wide);
    text += line.str();
  }
  return text;
}

}  // namespace

HeadEntry head_entry(std::span<const NamedScore> scores, bool chosen) {
  const NamedScore& largest = *std::ranges::max_element(scores, {}, &NamedScore::value);
  return {written(largest, true), written(largest, false), largest.value >= kBoldFrom, chosen};
}

HeadEntry head_entry(double first, double second, bool chosen) {
  const std::string text = fmt::format("{} {}", hundredths(first), hundredths(second));
  return {text, text, first >= kBoldFrom, chosen};
}

std::string head_name(int layer, int head) { return fmt::format("L{}.H{}", layer, head); }

std::string heads_table(const Terminal& terminal, const HeadsTable& table) {
  const bool wide = kWideColumn + table.heads * kWidePitch - 1 <= terminal.width + 1;
  const int a_band =
      wide ? table.heads
           : std::max(1, (terminal.width - kNarrowColumn + 1) / (table.narrow_cells + kGap));
  const std::string explanation = wide || table.legend.empty()
                                      ? table.explanation
                                      : fmt::format("{}", fmt::join(table.legend, "  "));
  const bool marks = !terminal.colour && std::ranges::any_of(table.entries, &HeadEntry::chosen);
  std::string text =
      heading(terminal, table.title, explanation + table.note + (marks ? "; [ ] chosen" : ""));
  for (int begin = 0; begin < table.heads; begin += a_band)
    text += band(terminal, table, begin, std::min(table.heads, begin + a_band), wide);
  return text;
}

}  // namespace heed::cli
