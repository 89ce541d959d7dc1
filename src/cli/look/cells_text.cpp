// One weight in detail, or the weights between all places of two words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/sequences.h"
#include "base/wording.h"
#include "cli/look/ranking.h"
#include "cli/look/text.h"
#include "cli/terminal/terminal.h"
#include "inspect/rows/lines.h"

namespace heed::cli {
namespace {

constexpr int kValueColumn = 10;
constexpr int kTableColumn = 6;

// Enough digits to compute the weight from score and log-sum-exp.
std::string signed_decimals(double value) {
  const std::string text = fmt::format("{:.4f}", value);
  return text == "-0.0000" ? "0.0000" : text;
}

// `3rd largest of 8`.
std::string rank_of(const LookCell& cell) {
  const std::string place = cell.rank == 1 ? "" : ordinal(cell.rank) + " ";
  return fmt::format("{}largest of {}", place, cell.of);
}

// `5th largest of 9, after <s> 0.232, he 0.227, …`: at most two others are named.
std::string neighbours(const Terminal& terminal, const TokenNames& names, const LookCell& cell) {
  std::string text = rank_of(cell);
  for (std::size_t i = 0; i < cell.others.size(); ++i) {
    const LookKey& other = cell.others[i];
    const bool larger = static_cast<std::int64_t>(i) + 1 < cell.rank;
    const char* joint =
        i == 0 ? (larger ? ", after " : ", then ") : (!larger && cell.rank == 2 ? ", then " : ", ");
    text += fmt::format("{}{}{} {}", joint, names.quoted_key(other.key), names.mark(other.key),
                        edge_weight(other.weight));
  }
  if (cell.rank - 1 > std::ssize(cell.others)) text += terminal.utf8 ? ", …" : ", ...";
  return text;
}

Line& put_pair(Line& line, const TokenNames& names, const LookCell& cell) {
  const std::string_view written = names.written(cell.query);
  const std::string writes = written.empty() ? "" : fmt::format(" (writes {})", written);
  return line.put(names.quoted_query(cell.query), Style::kBold)
      .put(fmt::format(" {}{} -> ", cell.query, writes), Style::kDim)
      .put(names.quoted_key(cell.key), Style::kBold)
      .put(fmt::format(" {}", cell.key), Style::kDim);
}

std::string one_cell(const Terminal& terminal, const TokenNames& names, const LookCell& cell) {
  Line first(terminal);
  put_pair(first, names, cell).to(first.column() + 5);
  if (!cell.visible) {
    first.put("0", Style::kBold).to(first.column() + 3);
    const std::string_view why = "hidden by the mask: a token sees only itself and earlier tokens";
    if (terminal.cuts()) return first.str() + paragraph(terminal, why, 2);
    return first.put(why, Style::kDim).str();
  }
  first.put(edge_weight(cell.weight), Style::kBold).to(first.column() + 3);
  std::string below = neighbours(terminal, names, cell);
  if (!terminal.cuts() || first.column() + cell_width(below) <= terminal.width)
    first.put(std::exchange(below, ""), Style::kDim);
  Line score(terminal);
  score.to(2).put("score", Style::kDim).to(kValueColumn).put(signed_decimals(cell.score));
  Line weight(terminal);
  weight.to(2).put("weight", Style::kDim).to(kValueColumn);
  const double lse = cell.lse;
  weight.put(fmt::format("e^({} {} {})", signed_decimals(cell.score), lse < 0 ? "+" : "-",
                         signed_decimals(std::abs(lse))));
  const std::string value = edge_weight(cell.weight);
  std::string above;  // the formula, if it needs a separate line
  if (terminal.cuts() && weight.column() + 5 + cell_width(value) > terminal.width)
    above = std::exchange(weight, Line(terminal).to(kValueColumn - 5)).str();
  weight.put("  =  ", Style::kDim).put(value);
  return first.str() + paragraph(terminal, below, 2) + score.str() + above + weight.str();
}

std::string list(std::vector<std::int64_t> indices) {
  sort_once(indices);
  std::string text;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 == indices.size() ? " and " : ", ";
    text += joint + std::to_string(indices[i]);
  }
  return text;
}

// `"flies" is at 2 and 8. All four, L0.H8:`
std::string places(const Look& look, const LookTextOptions& options, std::size_t shown) {
  std::vector<std::int64_t> queries;
  std::vector<std::int64_t> keys;
  for (const LookCell& cell : look.cells) {
    queries.push_back(cell.query);
    keys.push_back(cell.key);
  }
  std::string text = fmt::format("\"{}\" is at {}", options.who, list(queries));
  if (options.to != options.who) text += fmt::format(", \"{}\" at {}", options.to, list(keys));
  const std::string count = number_word(static_cast<std::int64_t>(shown));
  if (shown == 0)
    return text + fmt::format(". The mask hides all {}.",
                              number_word(static_cast<std::int64_t>(look.cells.size())));
  const bool all = shown == look.cells.size();
  text += all ? fmt::format(". All {}", count)
              : fmt::format(". The {} that the mask lets see, of {}", count, look.cells.size());
  return text + fmt::format(", {}:", head_name(look.chosen.layer, look.chosen.head));
}

std::string table(const Terminal& terminal, const TokenNames& names,
                  const std::vector<LookCell>& cells) {
  int who = 0;
  int to = 0;
  int rank_cells = 0;
  for (const LookCell& cell : cells) {
    who = std::max(who, cell_width(fmt::format("{} {}", names.query(cell.query), cell.query)));
    to = std::max(to, cell_width(fmt::format("{} {}", names.key(cell.key), cell.key)));
    rank_cells = std::max(rank_cells, cell_width(rank_of(cell)));
  }
  const int arrow = kTableColumn + who + 2;
  const int weight_end = arrow + 3 + to + 3 + 5;
  const int bar_cells = terminal.width - weight_end - 1 - rank_cells - 1;
  std::string text;
  for (const LookCell& cell : cells) {
    Line line(terminal);
    line.to(kTableColumn).put(names.query(cell.query), Style::kBold);
    line.put(fmt::format(" {}", cell.query)).to(arrow).put("-> ", Style::kDim).to(arrow + 3);
    line.put(names.key(cell.key), Style::kBold).put(fmt::format(" {}", cell.key));
    line.right(weight_end, weight_text(cell.weight)).to(weight_end + 1);
    line.put(bar(terminal, cell.weight, bar_cells), Style::kBar);
    if (terminal.cuts() && line.column() + 1 + cell_width(rank_of(cell)) > terminal.width) {
      text += line.str();
      line = Line(terminal);
    }
    text += line.right(terminal.width, rank_of(cell), Style::kDim).str();
  }
  return text;
}

// A head that sees none of the cells was not chosen for them.
std::string edge_choice(const Look& look, const LookTextOptions& options, bool is_seen) {
  if (!is_seen) return look.chosen.reason;
  const char* const what = options.head_given    ? "the layer chosen"
                           : options.layer_given ? "the head chosen"
                                                 : "chosen";
  return fmt::format("layer {}, head {}, {} by heed: {}", look.chosen.layer, look.chosen.head, what,
                     look.chosen.reason);
}

}  // namespace

std::string cells_text(const Terminal& terminal, const Look& look, const LookTextOptions& options) {
  const TokenNames names(terminal, look);
  std::vector<LookCell> visible;
  for (const LookCell& cell : look.cells)
    if (cell.visible) visible.push_back(cell);
  std::string text;
  if (look.chosen.automatic)
    text += paragraph(terminal, edge_choice(look, options, !visible.empty()), 0);
  if (look.cells.size() == 1) return text + one_cell(terminal, names, look.cells[0]);
  const std::string where = places(look, options, visible.size());
  text += terminal.cuts() ? paragraph(terminal, where, 0) : where + "\n";
  return text + table(terminal, names, visible);
}

namespace {

std::string explanation(const Look& look, const LookColumn& column) {
  const std::size_t count = column.from.size();
  std::string queries = column.rest_count == 0 ? "every query that sees it" : "the largest query";
  if (column.rest_count > 0 && count > 1)
    queries = fmt::format("the {} largest queries", number_word(static_cast<std::int64_t>(count)));
  return fmt::format("{}; {}", head_name(look.chosen.layer, look.chosen.head), queries);
}

std::string column_text(const Terminal& terminal, const Look& look, const TokenNames& names,
                        const LookColumn& column, const std::string& choice) {
  std::string text = heading(
      terminal, fmt::format("Who attends to {} {}", names.quoted_key(column.key), column.key),
      explanation(look, column));
  text += choice;
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
    text += text.empty()
                ? column_text(terminal, look, names, column, choice_text(terminal, look, options))
                : "\n" + column_text(terminal, look, names, column, "");
  return text;
}

}  // namespace heed::cli
