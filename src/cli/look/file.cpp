#include "cli/look/file.h"

#include <fmt/format.h>

#include <future>
#include <memory>

#include "cli/look/browser.h"
#include "cli/look/input.h"
#include "cli/terminal/interrupt.h"
#include "heed/base/error.h"
#include "inspect/answers/live_session.h"
#include "inspect/saved/saved_page.h"
#include "serve/page_sources.h"
#include "serve/server.h"

namespace heed::cli {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kMostWait = std::chrono::seconds(300);  // a long text takes its time to be read
constexpr std::int64_t kPictureBytes = std::int64_t{256} << 20;

// The text's session, tokenized once and run once, whichever way it is shown. Its heads are scored
// where the file holds their scores, or the view asks for the one that heed chooses.
std::shared_ptr<LiveSession> open_live(const LoadedModel& model, const LookFileOptions& options) {
  Session session =
      cut_text(model, {.text = options.text, .pair = options.pair, .target = options.target});
  if (!options.view.view.empty()) view_of(options.view, session, {});  // errors before the work
  const bool chosen = !options.view.view.empty() || (options.view.layer && options.view.head);
  const SessionInput input = {.text = options.text, .pair = options.pair, .target = options.target};
  auto live = std::make_shared<LiveSession>("saved", input, std::move(session), model);
  Overviews none_kept(0);  // the saved file makes its own
  while (!(chosen && options.format != "html" && live->pass_ended()) &&
         live->work(interrupted, none_kept)) {
  }
  check_interrupted();
  if (const std::exception_ptr failed = live->progress().failed) std::rethrow_exception(failed);
  return live;
}

ViewAddress view_of(const LookFileOptions& options, const LiveSession& live) {
  return view_of(options.view, live.session(), [&] { return live.scores(); });
}

std::string html_file(const LoadedModel& model, const LookFileOptions& options) {
  const std::shared_ptr<LiveSession> live = open_live(model, options);
  return saved_page(serve::page_sources(), *live, view_of(options, *live));
}

struct Taken {
  bool failed = false;
  std::string content;
};

// What the page hands over, or why it does not.
std::string wait_for(std::future<Taken>& picture, Browser& browser) {
  const auto end = std::chrono::steady_clock::now() + kMostWait;
  while (picture.wait_for(kPatience) != std::future_status::ready) {
    check_interrupted();
    if (!browser.is_running())
      fail({.code = ErrorCode::kFailed,
            .found = fmt::format("the browser {} ended before it had drawn the view: {}",
                                 browser.program(), browser.last_words())});
    if (std::chrono::steady_clock::now() > end)
      fail({.code = ErrorCode::kFailed,
            .found = fmt::format("the browser {} has not drawn the view in {} seconds",
                                 browser.program(), kMostWait.count())});
  }
  Taken taken = picture.get();
  if (taken.failed)
    fail({.code = ErrorCode::kFailed,
          .found = "the page could not draw the view: " + taken.content});
  return std::move(taken.content);
}

std::string picture_file(const LoadedModel& model, const LookFileOptions& options) {
  const std::string program = find_browser(options.format);
  const std::shared_ptr<LiveSession> live = open_live(model, options);
  const ViewAddress view = view_of(options, *live);
  const auto taken = std::make_shared<std::promise<Taken>>();
  std::future<Taken> picture = taken->get_future();
  ServerOptions serve = {.token = random_token(), .session = live};
  serve.limits.body_bytes = kPictureBytes;
  serve.picture = PictureOrder{.format = options.format,
                               .width = options.width,
                               .take = [taken](bool failed, std::string content) {
                                 taken->set_value({failed, std::move(content)});
                               }};
  Server server(model, serve);
  Browser browser(program, {.address = server.address() + "#" + format_view(view),
                            .width = options.width,
                            .dark = options.dark});
  return wait_for(picture, browser);
}

}  // namespace

std::string look_file(const LoadedModel& model, const LookFileOptions& options) {
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model with one"});
  const InterruptScope scope;  // the browser is ended and its folder removed before heed ends
  return options.format == "html" ? html_file(model, options) : picture_file(model, options);
}

}  // namespace heed::cli
