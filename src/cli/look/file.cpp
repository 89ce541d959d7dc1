#include "cli/look/file.h"

#include <memory>

#include "cli/look/browser.h"
#include "cli/look/input.h"
#include "cli/look/picture.h"
#include "cli/terminal/interrupt.h"
#include "heed/base/error.h"
#include "inspect/answers/live_session.h"
#include "inspect/saved/saved_page.h"
#include "serve/page_sources.h"

namespace heed::cli {
namespace {

// To the end, or until the pass has ended.
void work(LiveSession& live, bool pass_alone) {
  Overviews none_kept(0);  // the saved file makes its own
  while (!(pass_alone && live.pass_ended()) && live.work(interrupted, none_kept)) {
  }
  check_interrupted();
  if (const std::exception_ptr failed = live.progress().failed) std::rethrow_exception(failed);
}

// The text's session, tokenized once and run once, whichever way it is shown. Its heads are scored
// where the file holds their scores, or the view asks for the one that heed chooses.
std::shared_ptr<LiveSession> open_live(const LoadedModel& model, const LookFileOptions& options) {
  Session session =
      cut_text(model, {.text = options.text, .pair = options.pair, .target = options.target});
  if (!options.view.view.empty()) view_of(options.view, session, {});  // errors before the work
  const bool chosen = options.view.view.empty() ? options.view.layer && options.view.head
                                                : !read_view(options.view.view).places.empty();
  const SessionInput input = {.text = options.text, .pair = options.pair, .target = options.target};
  auto live = std::make_shared<LiveSession>("saved", input, std::move(session), model);
  work(*live, chosen && options.format != "html");
  return live;
}

ShownView view_of(const LookFileOptions& options, const LiveSession& live) {
  return view_of(options.view, live.session(), [&] { return live.scores(); });
}

std::string html_file(const LoadedModel& model, const LookFileOptions& options) {
  const std::shared_ptr<LiveSession> live = open_live(model, options);
  const auto [view, chosen] = view_of(options, *live);
  const std::shared_ptr<LiveSession> edited = edited_side(*live, model, view, interrupted);
  check_interrupted();
  return saved_page(serve::page_sources(), *live, view, kSavedBytes, edited.get(), chosen);
}

std::string picture_file(const LoadedModel& model, const LookFileOptions& options) {
  const std::string program = find_browser("--format " + options.format, "--format html");
  const std::shared_ptr<LiveSession> live = open_live(model, options);
  return draw_picture(live, view_of(options, *live).view,
                      {.format = options.format,
                       .width = options.width,
                       .dark = options.dark,
                       .panel = options.panel,
                       .program = program,
                       .model = &model,
                       .check = check_interrupted});
}

}  // namespace

std::string look_file(const LoadedModel& model, const LookFileOptions& options) {
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model with one"});
  serve::require_page(options.format);
  const InterruptScope scope;  // the browser is ended and its folder removed before heed ends
  return options.format == "html" ? html_file(model, options) : picture_file(model, options);
}

}  // namespace heed::cli
