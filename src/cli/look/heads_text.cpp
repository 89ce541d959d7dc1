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

}  // namespace

std::string heads_text(const Terminal& terminal, const Look& look) {
  HeadsTable table{.title = "Heads",
                   .explanation = "largest score of each, mean over rows",
                   .legend = {},
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
    const bool chosen = head.place == Place{look.chosen.stack, look.chosen.layer, look.chosen.head};
    table.entries.push_back(head_entry(scores, chosen));
  }
  return heads_table(terminal, table);
}

}  // namespace heed::cli
