// The page as one file: its own HTML, style and script, and a session's data instead of a server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/inspect/view.h"
#include "inspect/answers/live_session.h"

namespace heed {

inline constexpr std::int64_t kSavedBytes = std::int64_t{8} << 20;  // of Q, K and lse

/// The page's own files, as the browser reads them.
struct PageSources {
  std::string html;
  std::string style;
  std::string script;
};

/// Opens at `view`, which fits the session, and asks nobody for anything. Every layer must have
/// been scored.
std::string saved_page(const PageSources& page, const LiveSession& session, const ViewAddress& view,
                       std::int64_t bytes = kSavedBytes);

/// JSON that may stand inside of a script element: no `<` is left in it.
std::string script_safe(std::string_view json);

}  // namespace heed
