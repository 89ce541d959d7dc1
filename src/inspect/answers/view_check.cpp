// Checks whether a session has everything that an address names, and gives a view without a head
// the one that heed chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/look.h"
#include "inspect/answers/view.h"
#include "inspect/answers/view_parts.h"
#include "inspect/choice.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/heads/scores.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

std::vector<std::string_view> score_names(const std::vector<StackShape>& stacks) {
  std::vector<std::string_view> names;
  for (const ScoreInfo& info : score_infos())
    if (std::ranges::any_of(stacks, [&](const StackShape& each) { return has_score(each, info); }))
      names.push_back(info.name);
  return names;
}

void check_score(const char* part, const char* count, const std::string& name,
                 const std::vector<StackShape>& stacks) {
  const std::vector<std::string_view> names = score_names(stacks);
  if (std::ranges::find(names, name) == names.end())
    fail("view", part, name, fmt::format("{} of {}", count, joined(names, ", ")),
         ErrorCode::kNotFound);
}

// Checks that the other side of the comparison exists.
void check_versus(const ViewAddress& view, const Session& session) {
  if (view.versus.empty()) return;
  const Versus versus = read_versus(view.versus).value_or(Versus{});
  if (versus.head) {
    const std::vector<StackShape> shapes = session.shapes();
    const Place place = place_of(*versus.head, shapes);
    const StackShape& stack = find_stack("view", session.model, shapes, place.stack);
    check_layer("view", session.model, stack, place.layer);
    check_head("view", session.model, stack, place.head);
  } else if (!versus.text && !versus.model && !versus.run) {
    check_edits("view", session, versus.edits);
  }
}

}  // namespace

Place place_of(const ViewPlace& place, const std::vector<StackShape>& stacks) {
  return {place.stack.value_or(stacks.at(0).stack), place.layer, place.head};
}

void check_view(const ViewAddress& view, std::string_view model,
                const std::vector<StackShape>& stacks, const MatrixSize& size) {
  const Stack first = place_of(view.places.front(), stacks).stack;
  for (const ViewPlace& place : view.places) {
    const StackShape& stack = find_stack("view", model, stacks, place_of(place, stacks).stack);
    if (stack.stack != first)
      fail("view", "stack", stack_name(stack.stack),
           fmt::format("{}, as of the first head", stack_name(first)));
    check_layer("view", model, stack, place.layer);
    check_head("view", model, stack, place.head);
  }
  for (const std::string& name : view.scores) check_score("scores", "two", name, stacks);
  if (view.sort != "number") check_score("sort", "number, or one", view.sort, stacks);
  check_score("x", "one", view.x, stacks);
  check_score("y", "one", view.y, stacks);
  check_head_filter(parse_head_filter(view.filter), score_names(stacks));
  const std::int64_t pinned = view.to ? size.keys : size.queries;
  if (view.query) check_token("view", "i", *view.query, view.key ? size.queries : pinned);
  if (view.key) check_token("view", "j", *view.key, size.keys);
  if (view.range)
    check_token("view", "range", view.range->second, view.to ? size.keys : size.queries);
  if (view.zoom) {
    check_token("view", "zoom", view.zoom->first.second, size.queries);
    check_token("view", "zoom", view.zoom->second.second, size.keys);
  }
}

void check_view(const ViewAddress& view, const Session& session) {
  const std::vector<StackShape> shapes = session.shapes();
  const Stack stack =
      find_stack("view", session.model, shapes, place_of(view.places.front(), shapes).stack).stack;
  check_view(view, session.model, shapes, session.size(stack));
  check_versus(view, session);
  if (!view.pair.empty() && !session.split)
    fail("view", "pair", view.pair, "none: one text was read, not a pair");
}

ViewAddress with_some_head(ViewAddress view, const Session& session) {
  if (!view.places.empty()) return view;
  const StackShape& shape = session.stacks.front().shape;
  int layer = 0;
  while (layer + 1 < shape.layers && !(shape.has(layer) && session.keep.has(layer))) ++layer;
  view.places = {{.layer = layer}};
  return view;
}

ChosenHead head_for_view(const Session& session, Stack stack, const ViewAddress& view,
                         std::optional<int> layer, std::optional<int> head,
                         const std::function<std::vector<HeadScores>()>& scores) {
  if (view.query && view.key)
    return choose_head_of_edge(session, {{*view.query}}, {{*view.key}}, stack, layer, head);
  if (view.query && view.to)
    return choose_head_of_keys(session, {{*view.query}}, stack, layer, head);
  if (layer && head) {
    const ChosenHead named = choose_head(session, {}, stack, layer, head);
    return view.query ? named : at_strongest_edge(session, named);
  }
  const std::vector<std::int64_t> row(view.query ? 1 : 0, view.query.value_or(0));
  return choose_head(session, scores(), stack, layer, head, row);
}

ShownView shown(ViewAddress view, ChosenHead chosen) {
  chosen.query = view.query;
  chosen.key = view.key;
  return {std::move(view), chosen.automatic ? std::optional(chosen) : std::nullopt};
}

ShownView with_chosen_head(const Session& session,
                           const std::function<std::vector<HeadScores>()>& scores,
                           ViewAddress view) {
  if (!view.places.empty()) return {std::move(view)};
  const ChosenHead chosen =
      head_for_view(session, session.stacks.front().shape.stack, view, {}, {}, scores);
  view.places = {{.layer = chosen.layer, .head = chosen.head}};
  if (!view.query && !view.range) {
    view.query = chosen.query;
    view.key = chosen.key;
  }
  return shown(std::move(view), chosen);
}

}  // namespace heed
