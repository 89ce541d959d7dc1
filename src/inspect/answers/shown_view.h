// The head that an address shows: its own, or the one that heed chooses.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/view.h"

namespace heed {

struct ShownView {
  ViewAddress view;
  std::optional<ChosenHead> chosen = {};  // if heed chose the head: why, at the pinned edge
};

/// The view with the first head if it names none, for checks before heed chooses.
ViewAddress with_some_head(ViewAddress view);

/// The requested head, or heed's choice: for the view's edge, column or row; otherwise free, at the
/// edge that heed chooses. Calls `scores`, which needs the pass, only for a free choice.
ChosenHead head_for_view(const Session& session, Stack stack, const ViewAddress& view,
                         std::optional<int> layer, std::optional<int> head,
                         const std::function<std::vector<HeadScores>()>& scores);

/// The choice in the form that a saved page recognises: at the view's pinned row and key.
ShownView shown(ViewAddress view, ChosenHead chosen);

/// Gives a view without a head heed's choice and, if it pins nothing, that head's edge. A view with
/// a head stays as it is.
ShownView with_chosen_head(const Session& session,
                           const std::function<std::vector<HeadScores>()>& scores,
                           ViewAddress view);

}  // namespace heed
