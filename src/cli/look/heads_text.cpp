// The heads of `heed look`: what each does on the text.
#include <array>

#include "cli/look/heads_table.h"
#include "cli/look/text.h"

namespace heed::cli {

std::string heads_text(const Terminal& terminal, const Look& look) {
  HeadsTable table{.title = "Heads",
                   .explanation = "largest score of each, mean over rows",
                   .legend = {"p previous", "s self", "n next", "f first"},
                   .heads = static_cast<int>(look.info.heads)};
  if (look.info.causal) table.legend.erase(table.legend.begin() + 2);
  for (const HeadScores& head : look.heads) {
    const std::array<NamedScore, 4> scores = {{{"prev", 'p', head.previous},
                                               {"self", 's', head.self},
                                               {"next", 'n', head.next},
                                               {"first", 'f', head.first}}};
    const bool chosen = head.layer == look.chosen.layer && head.head == look.chosen.head;
    table.entries.push_back(head_entry(scores, chosen));
  }
  return heads_table(terminal, table);
}

}  // namespace heed::cli
