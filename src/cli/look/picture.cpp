#include "cli/look/picture.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <optional>

#include "cli/look/browser.h"
#include "heed/error.h"
#include "serve/server.h"

namespace heed::cli {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kMostWait = std::chrono::seconds(300);  // a long text takes its time to be read
constexpr std::int64_t kPictureBytes = std::int64_t{256} << 20;

struct Taken {
  PictureEnd end = PictureEnd::kFailed;
  std::string content;
};

// What the page hands over, or why it does not.
std::string wait_for(std::future<Taken>& picture, Browser& browser,
                     const std::function<void()>& check) {
  const auto end = std::chrono::steady_clock::now() + kMostWait;
  while (picture.wait_for(kPatience) != std::future_status::ready) {
    check();
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
  if (taken.end == PictureEnd::kRefused) fail({.op = "--panel", .found = taken.content});
  if (taken.end == PictureEnd::kFailed)
    fail({.code = ErrorCode::kFailed,
          .found = "the page could not draw the view: " + taken.content});
  return std::move(taken.content);
}

}  // namespace

std::string draw_picture(const SessionPointer& session, const ViewAddress& view,
                         const PictureTask& task) {
  const auto taken = std::make_shared<std::promise<Taken>>();
  std::future<Taken> picture = taken->get_future();
  ServerOptions serve = {.token = random_token(), .session = session};
  serve.limits.body_bytes = kPictureBytes;
  serve.picture = PictureOrder{.format = task.format,
                               .width = task.width,
                               .panel = task.panel,
                               .take = [taken](PictureEnd end, std::string content) {
                                 taken->set_value({end, std::move(content)});
                               }};
  std::optional<Server> server;
  if (task.model != nullptr)
    server.emplace(*task.model, serve);
  else
    server.emplace(serve);
  Browser browser(task.program, {.address = server->address() + "#" + format_view(view),
                                 .width = task.width,
                                 .dark = task.dark});
  return wait_for(picture, browser, task.check);
}

}  // namespace heed::cli
