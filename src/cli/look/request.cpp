#include <optional>
#include <utility>

#include "cli/look/look_options.h"
#include "cli/look/view.h"
#include "heed/error.h"
#include "inspect/session/session_input.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kDefaultRows = 64;

std::int64_t rows_of(const LookOptions& options) {
  if (!options.rows.empty()) return count_of("--rows", options.rows);
  return options.format == "text" ? kDefaultRows : -1;
}

// The view's first head, rows and cell: the parts that a terminal can show.
LookRequest request_of_view(const LookOptions& options, const Session& session) {
  const ViewAddress view = read_view(options.view);
  check_view(with_some_head(view, session), session);
  const std::optional<std::int64_t> cell = cell_key(view);
  if (cell && !options.top.empty() && options.format != "json")
    fail({.found = "--top cannot be used with j= of --view"});
  LookRequest request;
  if (!view.places.empty()) {
    const Place place = place_of(view.places.front(), session.shapes());
    request = {.stack = place.stack, .layer = place.layer, .head = place.head};
  }
  request.top = top_of(options);
  request.rows = rows_of(options);
  if (options.format == "text" && !cell)
    request.unit = heed::unit_of(view.units).value_or(request.unit);
  const auto rows = view.range.value_or(std::pair(view.query.value_or(0), view.query.value_or(-1)));
  for (std::int64_t row = rows.first; row <= rows.second; ++row) request.queries.push_back(row);
  if (cell) request.cell_keys.push_back(*cell);
  return request;
}

Unit unit_of(const LookOptions& options, const Session& session, Stack stack) {
  if (options.format != "text") return Unit::kToken;
  if (stack == Stack::kCross && !options.units.empty() && options.units != "token")
    fail({.argument = "--units",
          .found = options.units,
          .expected = "token: the rows and keys of cross-attention belong to two texts"});
  if (!options.units.empty()) return heed::unit_of(options.units).value_or(Unit::kToken);
  const bool has_parts =
      options.to.empty() && are_mostly_parts_of_characters(session.queries(stack));
  return has_parts ? Unit::kCharacter : Unit::kToken;
}

}  // namespace

LookRequest request_of(const LookOptions& options, const Session& session, Stack stack) {
  if (!options.view.empty()) return request_of_view(options, session);
  LookRequest request{.stack = stack, .layer = options.layer, .head = options.head};
  request.unit = unit_of(options, session, stack);
  request.top = top_of(options);
  request.rows = rows_of(options);
  if (!options.who.empty()) request.queries = tokens_of_who(session, stack, options.who);
  if (options.to.empty()) return request;
  (options.who.empty() ? request.columns : request.cell_keys) =
      tokens_of_to(session, stack, options.to);
  return request;
}

std::string take_link(LookOptions& options) {
  if (options.view.empty()) return {};
  ViewAddress view = read_view(options.view);
  if (view.model.empty() && view.text.empty() && view.second.empty()) return {};
  const bool has_text =
      options.text_given || !options.input.file.empty() || !options.input.ids.empty();
  if (!view.text.empty() && has_text)
    fail({.found = "TEXT, --file and --ids cannot be used with a --view that has a text"});
  if (!view.second.empty() && (options.input.pair || options.input.target))
    fail({.found = "--pair and --target cannot be used with a --view that has a second text"});
  if (!view.model.empty() && !options.model.empty() && view.model != options.model)
    fail({.found = "--model cannot be used with a --view of the model " + view.model});
  if (!view.model.empty()) options.model = std::exchange(view.model, "");
  if (!view.text.empty()) {
    options.input.text = std::exchange(view.text, "");
    options.text_given = true;
  }
  std::string second = std::exchange(view.second, "");
  options.view = format_view(view);
  return second;
}

void take_second(LookOptions& options, const std::string& second, const ModelInfo& info) {
  if (second.empty()) return;
  (info.reads_source() ? options.input.target : options.input.pair) = second;
}

}  // namespace heed::cli
