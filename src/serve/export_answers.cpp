// Exports: the page as a file, and the picture ordered by the command line.
#include "base/wording.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/view.h"
#include "inspect/answers/view_parts.h"
#include "inspect/saved/saved_page.h"
#include "serve/api.h"
#include "serve/page_sources.h"

namespace heed::serve {
namespace {

constexpr auto kExportPatience = std::chrono::milliseconds(100);  // between checks whether to stop

ViewAddress view_of(const Parameters& parameters, const LiveSession& session) {
  const std::string text = parameters.required("view", "an address, as look/L2.H4");
  const ViewAddress view =
      reworded([&] { return parse_view(text, ViewHeads::kOptional); },
               [&](ErrorParts& parts) {  // not of one part of the address
                 if (!parts.argument.empty() && !parts.found.empty()) return;
                 parts.op = {};
                 parts.argument = "view";
                 parts.found = json_string(parts.found.empty() ? text : parts.found.text());
               });
  check_view(with_some_head(view, session.session()), session.session());
  return view;
}

// A file contains the scores of all heads.
void wait_for_scores(const LiveSession& session, Cancel& cancel) {
  LiveSession::Progress seen = session.progress();
  while (!seen.scored && !seen.failed) {
    cancel.check();
    seen = session.wait(seen.version, kExportPatience);
  }
}

}  // namespace

void get_export(const Call& call) {
  const SessionPointer session = find_session(call);
  call.choice("format", {"html"});
  const ViewAddress view = view_of(call, *session);
  require_ready(*session);
  const auto edits = compared_edits(view);
  const auto run = compared_run(view);
  check_other_side(view, edits || run);
  const SessionPointer edited = edits ? call.api.sessions.derive(session, *edits).session
                                : run ? call.api.sessions.find(run_id(*run))
                                      : nullptr;
  call.response.set_header("Content-Disposition", "attachment; filename=\"heed.html\"");
  send_long(call, {.session = session,
                   .type = "text/html; charset=utf-8",
                   .compute =
                       [session, edited, view](Cancel& cancel) {
                         wait_for_scores(*session, cancel);
                         if (edited) wait_for_scores(*edited, cancel);
                         const auto [shown, chosen] = with_chosen_head(
                             session->session(), [&] { return session->scores(); }, view);
                         return saved_page(page_sources(), *session, shown, kSavedBytes,
                                           edited.get(), chosen);
                       },
                   .urgent = false,
                   .named = false});
}

void post_picture(const Call& call) {
  const std::optional<PictureOrder>& order = call.api.options.picture;
  if (!order || call.api.pictured.exchange(true))
    refuse(404, "not_found",
           {.found = "no picture is awaited", .hint = "heed look --format svg does"});
  const bool failed = call.number("failed", 0, 0, 1) == 1;
  const bool refused = call.number("refused", 0, 0, 1) == 1;
  order->take(refused  ? PictureEnd::kRefused
              : failed ? PictureEnd::kFailed
                       : PictureEnd::kDrawn,
              call.request().body);
  call.response.status = 204;
}

}  // namespace heed::serve
