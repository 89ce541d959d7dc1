#include "inspect/answers/shown_view.h"

#include <cstdint>
#include <utility>

#include "inspect/choice.h"

namespace heed {

ViewAddress with_some_head(ViewAddress view) {
  if (view.places.empty()) view.places = {{}};
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
