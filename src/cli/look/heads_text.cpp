// The heads of `heed look`: what each does on the text.
#include <fmt/format.h>

#include "cli/look/heads_table.h"
#include "cli/look/text.h"

namespace heed::cli {
namespace {

// Of the stack that is shown.
int heads_of(const Look& look) {
  for (const StackShape& stack : look.info.stacks)
    if (stack.stack == look.chosen.stack) return stack.heads;
  return static_cast<int>(look.info.heads);
}

bool is_chosen(const Look& look, const HeadScores& head) {
  return head.place == Place{look.chosen.stack, look.chosen.layer, look.chosen.head};
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
      table.entries.push_back(
          head_entry(head.order->in_order, head.order->peak, is_chosen(look, head)));
  return heads_table(terminal, table);
}

}  // namespace

std::string heads_text(const Terminal& terminal, const Look& look) {
  if (look.chosen.stack == Stack::kCross) return cross_heads_text(terminal, look);
  HeadsTable table{.title = "Heads",
                   .explanation = "largest score of each, mean over rows",
                   .legend = {},
                   .note = kNoName,
                   .heads = heads_of(look)};
  const auto shown = [&](const ScoreInfo& info) {
    return info.is_share && !(info.looks_ahead && look.info.causal);
  };
  for (const ScoreInfo& info : score_infos())
    if (shown(info)) table.legend.push_back(fmt::format("{} {}", info.name[0], info.name));
  for (const HeadScores& head : look.heads) {
    if (head.place.stack != look.chosen.stack) continue;
    std::vector<NamedScore> scores;
    for (std::size_t i = 0; i < score_infos().size(); ++i)
      if (const ScoreInfo& info = score_infos()[i]; shown(info))
        scores.push_back({info.short_name.data(), info.name[0], head.values[i]});
    table.entries.push_back(head_entry(scores, is_chosen(look, head)));
  }
  return heads_table(terminal, table);
}

}  // namespace heed::cli
