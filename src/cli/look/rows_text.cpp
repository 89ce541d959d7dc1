// Attention between tokens: one line per query.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/wording.h"
#include "cli/look/ranking.h"
#include "cli/look/text.h"
#include "cli/terminal/terminal.h"
#include "inspect/rows/lines.h"

namespace heed::cli {
namespace {

constexpr int kLeastWhoCells = 5;
constexpr int kLeastWritesCells = 6;
constexpr int kWeightCells = 5;  // `<.001`
constexpr int kLeastBarCells = 2;
constexpr double kBoldWeight = 0.3;

// The columns of the table; a column of keys is token, weight, bar and a gap.
struct Columns {
  int writes = 0;  // the output word, in cross-attention; 0: no such column
  int arrow = 0;
  int keys = 0;       // the first key's token
  int key_cells = 0;  // token with mark
  int pitch = 0;
  int bar_cells = 0;
  int a_line = 1;  // keys per line
};

std::string rest_of(const LookRow& row) {
  std::string rest;
  if (row.rest_count > 0)
    rest = fmt::format("+{} in {}", weight_text(row.rest_weight), row.rest_count);
  if (row.sink) rest += fmt::format("{}sink {}", rest.empty() ? "" : ", ", weight_text(*row.sink));
  return rest;
}

Columns lay_out(const Terminal& terminal, const Look& look, const TokenNames& names) {
  Columns columns;
  int who = kLeastWhoCells;
  int writes = 0;
  int rest = 0;
  int most = 1;
  for (const LookRow& row : look.rows) {
    who = std::max(who, cell_width(names.query(row.query)));
    writes = std::max(writes, cell_width(names.written(row.query)));
    rest = std::max(rest, cell_width(rest_of(row)));
    most = std::max(most, static_cast<int>(row.attends.size()));
    for (const LookKey& key : row.attends)
      columns.key_cells = std::max(columns.key_cells, names.width(key.key));
  }
  columns.arrow = kWhoColumn + who + 1;
  if (writes > 0) {
    columns.writes = columns.arrow + 1;
    columns.arrow = columns.writes + std::max(writes, kLeastWritesCells) + 1;
  }
  columns.keys = columns.arrow + 3;
  const int room = terminal.width - columns.keys - (rest > 0 ? rest + 1 : 0);
  const int without_bar = columns.key_cells + 1 + kWeightCells + 1 + 1;
  columns.a_line = std::clamp(room / (without_bar + kLeastBarCells), 1, most);
  columns.pitch = room / columns.a_line;
  columns.bar_cells = std::max(0, columns.pitch - without_bar);
  return columns;
}

std::string column_heads(const Terminal& terminal, const Columns& columns, bool with_rest) {
  Line line(terminal);
  line.right(kIndexEnd, "i", Style::kDim).to(kWhoColumn).put("who", Style::kDim);
  if (columns.writes > 0) line.to(columns.writes).put("writes", Style::kDim);
  line.to(columns.keys).put("to whom", Style::kDim);
  if (with_rest) line.right(terminal.width, "rest", Style::kDim);
  return line.str();
}

void put_key(Line& line, const Terminal& terminal, const Columns& columns, const TokenNames& names,
             const LookKey& key) {
  const int begin = line.column();
  const Style style = key.weight >= kBoldWeight ? Style::kBold : Style::kPlain;
  line.put(names.key(key.key), style).put(names.mark(key.key));
  const int weight_end = begin + columns.key_cells + 1 + kWeightCells;
  line.right(weight_end, weight_text(key.weight), style).to(weight_end + 1);
  line.put(bar(terminal, key.weight, columns.bar_cells), Style::kBar);
}

std::string row_lines(const Terminal& terminal, const Columns& columns, const TokenNames& names,
                      const LookRow& row, bool is_chosen) {
  Line line(terminal);
  line.right(kIndexEnd, std::to_string(row.query), Style::kDim).to(kWhoColumn - 1);
  line.put(is_chosen ? ">" : " ", Style::kBold).to(kWhoColumn);
  line.put(names.query(row.query), Style::kBold);
  if (columns.writes > 0) line.to(columns.writes).put(names.written(row.query));
  line.to(columns.arrow).put("->", Style::kDim);
  std::string lines;
  for (std::size_t i = 0; i < row.attends.size(); ++i) {
    const int column = static_cast<int>(i) % columns.a_line;
    if (i > 0 && column == 0) {
      lines += line.str();
      line = Line(terminal);
    }
    line.to(columns.keys + column * columns.pitch);
    put_key(line, terminal, columns, names, row.attends[i]);
  }
  if (row.attends.empty()) line.to(columns.keys).put("none", Style::kDim);
  if (rest_of(row).empty()) return lines + line.str();
  if (terminal.cuts() && line.column() + 1 + cell_width(rest_of(row)) > terminal.width) {
    lines += line.str();
    line = Line(terminal);
  }
  return lines + line.right(terminal.width, rest_of(row), Style::kDim).str();
}

std::string explanation(const Look& look, const LookTextOptions& options) {
  const std::string of_units = look.units.empty() ? "" : "; summed over keys, averaged over rows";
  const std::string keys =
      options.top < 0    ? "every key"
      : options.top == 1 ? "the largest, then the rest"
                         : fmt::format("the {} largest, then the rest", number_word(options.top));
  return fmt::format("{}; {}{}", head_name(look.chosen.layer, look.chosen.head), keys, of_units);
}

// "the last 64 of 97 rows; --rows all shows every one"
std::string rows_shown(const Look& look, const LookTextOptions& options) {
  const std::size_t shown = look.rows.size();
  const std::string all = number_of(shown + static_cast<std::size_t>(look.hidden_rows), "row");
  const std::int64_t last = look.units.empty() ? std::ssize(look.tokens) - 1 : look.units.back();
  const std::string which = look.rows.back().query == last
                                ? fmt::format("the last {} of {}", shown, all)
                                : fmt::format("rows {} to {} of {}", look.rows.front().query,
                                              look.rows.back().query, all);
  return fmt::format("{}; {}", which, options.all_rows);
}

}  // namespace

std::string choice_text(const Terminal& terminal, const Look& look,
                        const LookTextOptions& options) {
  if (!look.chosen.automatic) return {};
  const std::string what =
      options.head_given    ? fmt::format("this layer for head {}", look.chosen.head)
      : options.layer_given ? fmt::format("this head of layer {}", look.chosen.layer)
                            : "this head";
  return paragraph(terminal, fmt::format("heed chose {}: {}", what, look.chosen.reason), 2);
}

std::string rows_text(const Terminal& terminal, const Look& look, const LookTextOptions& options) {
  const TokenNames names(terminal, look);
  const Columns columns = lay_out(terminal, look, names);
  std::string text = heading(terminal, "Who attends to whom", explanation(look, options));
  text += choice_text(terminal, look, options);
  if (look.hidden_rows > 0) text += paragraph(terminal, rows_shown(look, options), 2);
  const bool with_rest =
      std::ranges::any_of(look.rows, [](auto& row) { return !rest_of(row).empty(); });
  text += column_heads(terminal, columns, with_rest);
  std::optional<std::int64_t> chosen = look.chosen.query;
  if (chosen && !look.units.empty()) chosen = look.units[unit_of_token(look.units, *chosen)];
  for (const LookRow& row : look.rows)
    text += row_lines(terminal, columns, names, row, look.chosen.automatic && row.query == chosen);
  return text;
}

}  // namespace heed::cli
