// The table of heads: the largest score of each, with its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/look_text.h"

namespace heed::cli {
namespace {

constexpr double kShownFrom = 0.2;
constexpr double kBoldFrom = 0.5;
constexpr int kLayerEnd = 6;     // layer numbers end at this cell
constexpr int kWidePitch = 11;   // `first .26` and a gap
constexpr int kNarrowPitch = 7;  // `f .26` and a gap
constexpr int kWideColumn = 9;   // H0 begins here
constexpr int kNarrowColumn = 8;

struct NamedScore {
  const char* name;
  const char* letter;
  const char* legend;
  double HeadScores::* value;
};

constexpr std::array<NamedScore, 4> kScores = {{
    {"prev", "p", "p previous", &HeadScores::previous},
    {"self", "s", "s self", &HeadScores::self},
    {"next", "n", "n next", &HeadScores::next},
    {"first", "f", "f first", &HeadScores::first},
}};

const NamedScore& largest(const HeadScores& head) {
  return *std::ranges::max_element(kScores, {}, [&](auto& score) { return head.*score.value; });
}

std::string entry(const HeadScores& head, bool wide) {
  const NamedScore& score = largest(head);
  const double value = head.*score.value;
  const char* name = value < kShownFrom ? "-" : wide ? score.name : score.letter;
  return fmt::format("{:<{}} {}", name, wide ? 5 : 1, hundredths(value));
}

std::string explanation(const Look& look, bool wide) {
  const std::string none = "- where none reaches 0.2";
  if (wide) return "largest score of each, mean over rows; " + none;
  std::string legend;
  for (const NamedScore& score : kScores) {
    if (look.info.causal && score.value == &HeadScores::next) continue;
    legend += fmt::format("{}{}", legend.empty() ? "" : "  ", score.legend);
  }
  return legend + "; " + none;
}

// The heads [begin, end) of every layer.
std::string band(const Terminal& terminal, const Look& look, int begin, int end, bool wide) {
  const int column = wide ? kWideColumn : kNarrowColumn;
  const int pitch = wide ? kWidePitch : kNarrowPitch;
  Line line(terminal);
  line.right(kLayerEnd, "layer", Style::kDim);
  for (int head = begin; head < end; ++head)
    line.to(column + (head - begin) * pitch).put(fmt::format("H{}", head), Style::kDim);
  std::string text = line.str();
  const auto heads = static_cast<std::size_t>(look.info.heads);
  for (std::size_t layer = 0; layer * heads < look.heads.size(); ++layer) {
    line = Line(terminal);
    line.right(kLayerEnd, std::to_string(layer), Style::kDim);
    for (int head = begin; head < end; ++head) {
      const HeadScores& scores = look.heads[layer * heads + static_cast<std::size_t>(head)];
      const bool chosen = scores.layer == look.chosen.layer && scores.head == look.chosen.head;
      const int at = column + (head - begin) * pitch;
      if (chosen && !terminal.colour) {
        line.to(at - 1).put(fmt::format("[{}]", entry(scores, wide)));
      } else {
        const bool bold = scores.*largest(scores).value >= kBoldFrom;
        line.to(at).put(entry(scores, wide), chosen ? Style::kReverse
                                             : bold ? Style::kBold
                                                    : Style::kPlain);
      }
    }
    text += line.str();
  }
  return text;
}

}  // namespace

std::string heads_text(const Terminal& terminal, const Look& look) {
  const int heads = static_cast<int>(look.info.heads);
  const bool wide = kWideColumn + heads * kWidePitch - 1 <= terminal.width + 1;
  const int a_band =
      wide ? heads : std::max(1, (terminal.width - kNarrowColumn + 1) / kNarrowPitch);
  std::string text = heading(terminal, "Heads", explanation(look, wide));
  for (int begin = 0; begin < heads; begin += a_band)
    text += band(terminal, look, begin, std::min(heads, begin + a_band), wide);
  return text;
}

}  // namespace heed::cli
