#include "serve/saved_page.h"

#include "heed/base/error.h"
#include "inspect/answers/json_text.h"
#include "inspect/answers/session_json.h"
#include "inspect/saved/held_heads.h"
#include "serve/about_json.h"
#include "serve/inflate.h"
#include "serve/page_files.h"

namespace heed::server {
namespace {

constexpr std::int64_t kWords = 6;  // next words a position
constexpr std::string_view kStyle = "<link rel=\"stylesheet\" href=\"app.css\">";
constexpr std::string_view kScript = "<script type=\"module\" src=\"app.js\"></script>";
// Nothing may be loaded from anywhere, whatever a text holds; the page's own script and style stand
// inside of the file, and blob: is a picture that it has drawn.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
    "'unsafe-inline'; style-src 'unsafe-inline'; img-src blob:\">\n";

std::string page_file(std::string_view path) {
  for (const PageFile& file : page_files())
    if (file.path == path) return inflated(file.gzip);
  fail(ErrorCode::kUnsupported,
       "html: heed was built without its page (HEED_PAGE=OFF), of which the file would be made");
}

void replace(std::string& page, std::string_view from, const std::string& to) {
  const std::size_t at = page.find(from);
  if (at == std::string::npos)
    fail(ErrorCode::kFailed, "html: the page has no {} to put its files in place of", from);
  page.replace(at, from.size(), to);
}

std::string next_list(const LiveSession& session) {
  std::vector<std::int64_t> positions;
  for (std::int64_t position = 0; position < session.length(); ++position)
    if (session.keeps_next(position)) positions.push_back(position);
  return json_list(positions, [&](std::int64_t at) { return next_json(session, at, kWords); });
}

std::string snapshot_json(const LoadedModel& model, const LiveSession& session,
                          const ViewAddress& view, std::int64_t bytes) {
  const auto held = choose_held(session.info(), session.length(), view, bytes);
  const LiveSession::Progress progress = session.progress();
  if (!progress.chosen)
    fail(ErrorCode::kFailed, "html: the heads have not been scored, a file holds their scores");
  const auto layer = [&](int index) {
    return layer_json(session, progress.layers[static_cast<std::size_t>(index)], index) + "}";
  };
  const std::string held_heads =
      R"(,"held":)" + json_list(held, [](const auto& heads) { return json_numbers(heads); });
  return fmt::format(
      R"({{"about":{},"session":{},"view":{},"chosen":{},"scores":{},"next":{},"held":{}}})",
      about_json(model, {}, json_string(session.text), {}, held_heads),
      session_json(model.name, session), json_string(format_view(view)),
      chosen_json(*progress.chosen), json_list(progress.order, layer), next_list(session),
      held_json(session, held));
}

}  // namespace

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char letter : json) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

std::string saved_page(const LoadedModel& model, const LiveSession& session,
                       const ViewAddress& view, std::int64_t bytes) {
  std::string page = page_file("/");
  const std::string script = page_file("/app.js");
  // These would end the element that the script stands in, or hide its end.
  if (script.find("</script") != std::string::npos || script.find("<!--") != std::string::npos)
    fail(ErrorCode::kFailed, "html: the page's script cannot stand inside of the page");
  replace(page, kStyle, std::string(kPolicy) + "<style>" + page_file("/app.css") + "</style>");
  const std::string data = script_safe(snapshot_json(model, session, view, bytes));
  replace(page, kScript,
          "<script type=\"application/json\" id=\"heed-snapshot\">" + data +
              "</script>\n<script type=\"module\">" + script + "</script>");
  return page;
}

}  // namespace heed::server
