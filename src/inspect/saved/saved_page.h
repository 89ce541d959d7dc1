// The page as one file: its HTML, style and script, and a session's data instead of a server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heed/session.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/view.h"

namespace heed {

inline constexpr std::int64_t kSavedBytes = std::int64_t{8} << 20;  // for Q, K and lse

/// The page's files as the browser receives them.
struct PageSources {
  std::string html;
  std::string style;
  std::string script;
};

/// The edits that a view compares with; empty if it compares with something else.
std::optional<Edits> compared_edits(const ViewAddress& view);

/// The name of the session that a view compares its own with, if it does.
std::optional<std::string> compared_run(const ViewAddress& view);

/// Throws kUnsupported where the view compares with what a file cannot hold: another text or model,
/// or edits that were not run.
void check_other_side(const ViewAddress& view, bool has_edited);

/// The same text under the view's compared_edits, run and scored; null without edits. `live` must
/// have ended its pass. Ends early, unscored, when `stop` returns true.
std::shared_ptr<LiveSession> edited_side(const LiveSession& live, const LoadedModel& model,
                                         const ViewAddress& view,
                                         const std::function<bool()>& stop);

/// Opens at `view`, which fits the session, and asks nobody for anything. Every layer must have
/// been scored. `edited` is the same text under the view's compared_edits, or its compared_run,
/// scored as well; a view that compares with anything else than a head is refused without it.
/// `chosen` says why the view has its head; without it the page can show why heed's own choice has
/// its head.
std::string saved_page(const PageSources& page, LiveSession& session, const ViewAddress& view,
                       std::int64_t bytes = kSavedBytes, const LiveSession* edited = nullptr,
                       const std::optional<ChosenHead>& chosen = {});

/// JSON that can be placed in a script element: it contains no `<`.
std::string script_safe(std::string_view json);

}  // namespace heed
