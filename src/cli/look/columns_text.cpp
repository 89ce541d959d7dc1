// Who attends to a word: one line a query, the largest weight first.
#include <fmt/format.h>

#include <algorithm>

#include "base/number_of.h"
#include "cli/look/heads_table.h"
#include "cli/look/text.h"
#include "cli/terminal/cells.h"

namespace heed::cli {
namespace {

std::string explanation(const Look& look, const LookColumn& column) {
  const std::size_t count = column.from.size();
  std::string queries = column.rest_count == 0 ? "every query that sees it" : "the largest query";
  if (column.rest_count > 0 && count > 1)
    queries = fmt::format("the {} largest queries", number_word(static_cast<std::int64_t>(count)));
  return fmt::format("{}; {}", head_name(look.chosen.layer, look.chosen.head), queries);
}

std::string column_text(const Terminal& terminal, const Look& look, const TokenNames& names,
                        const LookColumn& column) {
  std::string text = heading(
      terminal, fmt::format("Who attends to {} {}", names.quoted_key(column.key), column.key),
      explanation(look, column));
  int who = 0;
  for (const LookQuery& from : column.from)
    who = std::max(who, cell_width(names.query(from.query)));
  const int weight_end = kWhoColumn + who + 1 + 5;
  for (const LookQuery& from : column.from) {
    Line line(terminal);
    line.right(kIndexEnd, std::to_string(from.query), Style::kDim).to(kWhoColumn);
    line.put(names.query(from.query), Style::kBold).right(weight_end, weight_text(from.weight));
    line.to(weight_end + 1);
    line.put(bar(terminal, from.weight, terminal.width - weight_end - 1), Style::kBar);
    text += line.str();
  }
  std::string rest = fmt::format("{:.2f} in all", column.sum);
  if (column.rest_count > 0)
    rest = fmt::format("+{:.2f} from {}; {}", column.rest_weight,
                       number_of(column.rest_count, "other"), rest);
  return text + Line(terminal).to(kWhoColumn).put(rest, Style::kDim).str();
}

}  // namespace

std::string columns_text(const Terminal& terminal, const Look& look,
                         const LookTextOptions& options) {
  const TokenNames names(terminal, look);
  std::string text;
  for (const LookColumn& column : look.columns)
    text += (text.empty() ? "" : "\n") + column_text(terminal, look, names, column);
  return choice_text(terminal, look, options) + text;
}

}  // namespace heed::cli
