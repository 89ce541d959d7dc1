#include "cli/look/file.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <future>
#include <memory>

#include "cli/look/browser.h"
#include "cli/look/input.h"
#include "cli/terminal/interrupt.h"
#include "heed/base/error.h"
#include "serve/saved_page.h"
#include "serve/server.h"

namespace heed::cli {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kMostWait = std::chrono::seconds(300);  // a long text takes its time to be read
constexpr std::int64_t kPictureBytes = std::int64_t{256} << 20;

std::vector<HeadScores> scores_of(const server::LiveSession& session) {
  std::vector<HeadScores> scores;
  for (const server::LayerHeads& layer : session.progress().layers)
    for (const server::HeadStatistics& head : *layer) scores.push_back(head.scores);
  return scores;
}

// The same session as the server would open, with nobody to talk to.
std::string html_file(const LoadedModel& model, const LookFileOptions& options) {
  const Session cut = cut_text(model, options.text);
  server::LiveSession session("saved", options.text, cut_session(model, options.text));
  server::Overviews none_kept(0);  // the file makes those of the heads that it holds
  const auto run = [&] {
    while (session.work(model, interrupted, none_kept)) {
    }
    check_interrupted();
    const server::LiveSession::Progress progress = session.progress();
    if (progress.failed)
      fail(progress.failed->status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kFailed, "{}",
           progress.failed->message);
  };
  if (!options.view.view.empty()) view_of(options.view, cut, {});  // errors before the work
  run();
  return server::saved_page(model, session,
                            view_of(options.view, cut, [&] { return scores_of(session); }));
}

std::string random_token() {
  std::array<std::uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof words, 0) != sizeof words)
    fail(ErrorCode::kIo, "no random bytes for the token");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
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
      fail(ErrorCode::kFailed, "the browser {} ended before it had drawn the view: {}",
           browser.program(), browser.last_words());
    if (std::chrono::steady_clock::now() > end)
      fail(ErrorCode::kFailed, "the browser {} has not drawn the view in {} seconds",
           browser.program(), kMostWait.count());
  }
  Taken taken = picture.get();
  if (taken.failed) fail(ErrorCode::kFailed, "the page could not draw the view: {}", taken.content);
  return std::move(taken.content);
}

std::string picture_file(const LoadedModel& model, const LookFileOptions& options) {
  const std::string program = find_browser(options.format);
  const ViewAddress view = view_of(options.view, cut_text(model, options.text),
                                   [&] { return score_heads(open_session(model, options.text)); });
  const auto taken = std::make_shared<std::promise<Taken>>();
  std::future<Taken> picture = taken->get_future();
  ServerOptions serve = {.token = random_token(), .text = options.text};
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
  require(model.tokenizer != nullptr, "{} has no tokenizer: expected a model with one", model.name);
  const InterruptScope scope;  // the browser is ended and its folder removed before heed ends
  return options.format == "html" ? html_file(model, options) : picture_file(model, options);
}

}  // namespace heed::cli
