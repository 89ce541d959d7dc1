#include "inspect/saved/saved_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/view_parts.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/evidence/read_out.h"
#include "inspect/saved/held.h"

namespace heed {
namespace {

constexpr std::int64_t kWords = 6;  // next words per position
constexpr std::string_view kStyle = "<link rel=\"stylesheet\" href=\"app.css\">";
constexpr std::string_view kScript = "<script type=\"module\" src=\"app.js\"></script>";
// Nothing may be loaded from anywhere, whatever a text holds; the page's own script and style stand
// inside of the file; blob: is a picture that it has drawn, and data: an image of the session.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
    "'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:\">\n";

void replace(std::string& page, std::string_view from, const std::string& to) {
  const std::size_t at = page.find(from);
  if (at == std::string::npos)
    fail({.code = ErrorCode::kFailed,
          .op = "html",
          .found = fmt::format("the page has no {} to put its files in place of", from)});
  page.replace(at, from.size(), to);
}

ModelsAnswer about(const LiveSession& live, std::vector<HeldStackAnswer> held) {
  const Session& session = live.session();
  ModelsAnswer answer{.version = std::string(version()),
                      .models = {answer_model(session)},
                      .text = {live.input.text},
                      .pair = live.input.pair,
                      .target = live.input.target,
                      .limits = {.tokens = session.info.positions},
                      .scores = answer_scores(live.shapes())};
  answer.models.front().held = std::move(held);
  return answer;
}

std::vector<LayerHeadsAnswer> all_scores(const LiveSession& session) {
  std::vector<LayerHeadsAnswer> scores;
  for (const StackShape& shape : session.shapes())
    std::ranges::move(answer_heads(session, shape.stack, {}).layers, std::back_inserter(scores));
  return scores;
}

// The compared head is stored like the shown ones.
ViewAddress with_compared(ViewAddress view) {
  const auto versus = read_versus(view.versus);
  if (versus && versus->head) view.places.push_back(*versus->head);
  return view;
}

void require_scored(const LiveSession& session) {
  if (!session.progress().scored)
    fail({.code = ErrorCode::kFailed,
          .op = "html",
          .found = "the heads have not been scored",
          .hint = "a file holds their scores"});
}

std::vector<NextAnswer> next_words(const LiveSession& session, Stack stack) {
  std::vector<NextAnswer> next;
  for (std::int64_t position = 0; position < std::ssize(session.session().tokens); ++position)
    if (session.keeps_next(position)) next.push_back(answer_next(session, stack, position, kWords));
  return next;
}

// Adds the likeliest words of the compared session, so that the page knows them on both sides.
void add_words(std::vector<NextAnswer>& own, const std::vector<NextAnswer>& others,
               const LiveSession& live) {
  const std::vector<StreamLevel>& streams = live.session().streams;
  if (own.size() != others.size() || live.model() == nullptr || streams.empty()) return;
  const std::int64_t begin = own.front().position;
  const auto add = [&](std::int64_t position, std::span<const float> logits) {
    const auto at = static_cast<std::size_t>(position - begin);
    std::vector<WordAnswer>& words = own[at].words;
    RestWordsAnswer& rest = own[at].rest;
    for (const WordAnswer& word : others[at].words) {
      if (std::ranges::find(words, word.id, &WordAnswer::id) != words.end() ||
          word.id >= std::ssize(logits))
        continue;
      const auto chance = static_cast<float>(chance_of(word.id, logits).probability);
      words.push_back({word.id, word.word, chance, logits[static_cast<std::size_t>(word.id)]});
      rest = {rest.count - 1, std::max(rest.probability - chance, 0.0F)};
    }
    std::ranges::stable_sort(words, std::greater(), &WordAnswer::probability);
  };
  visit_logits(streams.back(), *live.model(), begin, own.back().position + 1, [] {}, add);
}

HeldSessionAnswer held_session(const LiveSession& session, const std::vector<Place>& in_view,
                               const std::vector<HeldStackAnswer>& held, std::int64_t bytes,
                               const std::optional<ChosenHead>& chosen = {}) {
  require_scored(session);
  const Stack stack = in_view.front().stack;
  return {.session = answer_session(session),
          .chosen = answer_chosen(chosen ? *chosen : session.chosen(stack)),
          .scores = all_scores(session),
          .next = next_words(session, stack),
          .held = hold(session, held, in_view, bytes),
          .atlas = held_atlas(session, held)};
}

// In the form of the page's address.
std::string versus_of(const Edits& edits) {
  std::string text = to_text(edits);
  std::ranges::replace(text, '=', ':');
  std::ranges::replace(text, '/', ':');
  return text;
}

SnapshotAnswer snapshot(LiveSession& session, ViewAddress view, std::int64_t bytes,
                        const LiveSession* edited, const std::optional<ChosenHead>& chosen) {
  check_other_side(view, edited != nullptr);
  if (edited != nullptr && !compared_run(view)) view.versus = versus_of(edited->input.edits);
  if (edited != nullptr) bytes /= 2;
  const ViewAddress compared = with_compared(view);
  std::vector<Place> in_view;
  for (const ViewPlace& place : compared.places)
    in_view.push_back(place_of(place, session.shapes()));
  const auto held = choose_held(session.session(), compared, bytes);
  SnapshotAnswer answer{.about = about(session, held),
                        .view = format_view(view),
                        .own = held_session(session, in_view, held, bytes, chosen),
                        .answers = held_answers(session, view)};
  if (!answer.answers.empty()) answer.about.models.front().held_view = view.view;
  if (edited != nullptr) {
    answer.edited = held_session(*edited, in_view, held, bytes);
    add_words(answer.own.next, answer.edited->next, session);
    add_words(answer.edited->next, answer.own.next, *edited);
  }
  return answer;
}

}  // namespace

std::string script_safe(std::string_view json) { return replaced(json, {{'<', "\\u003c"}}); }

std::optional<Edits> compared_edits(const ViewAddress& view) {
  const auto versus = view.versus.empty() ? std::nullopt : read_versus(view.versus);
  if (!versus || versus->head || versus->text || versus->model || versus->run) return {};
  return versus->edits;
}

std::optional<std::string> compared_run(const ViewAddress& view) {
  const auto versus = view.versus.empty() ? std::nullopt : read_versus(view.versus);
  return versus ? versus->run : std::nullopt;
}

void check_other_side(const ViewAddress& view, bool has_edited) {
  const auto versus = view.versus.empty() ? std::nullopt : read_versus(view.versus);
  if (!versus || versus->head || has_edited) return;
  fail("html", "vs", view.versus,
       "a head, or edits of a session that has a model: a file can show no other",
       ErrorCode::kUnsupported);
}

std::shared_ptr<LiveSession> edited_side(const LiveSession& live, const LoadedModel& model,
                                         const ViewAddress& view,
                                         const std::function<bool()>& stop) {
  const auto edits = compared_edits(view);
  if (!edits) return {};
  Session session = with_edits(live.session(), *edits);
  SessionInput input = live.input;
  input.edits = session.edits;
  auto edited = std::make_shared<LiveSession>("edited", input, std::move(session), model);
  Overviews none_kept(0);  // a file makes its own
  while (edited->work(stop, none_kept)) {
  }
  const std::exception_ptr failed = edited->progress().failed;
  if (failed && !stop()) std::rethrow_exception(failed);
  return edited;
}

std::string saved_page(const PageSources& sources, LiveSession& session, const ViewAddress& view,
                       std::int64_t bytes, const LiveSession* edited,
                       const std::optional<ChosenHead>& chosen) {
  std::string page = sources.html;
  const std::string& script = sources.script;
  // These would end the script element, or hide its end.
  if (script.find("</script") != std::string::npos || script.find("<!--") != std::string::npos)
    fail({.code = ErrorCode::kFailed,
          .op = "html",
          .found = "the page's script cannot be embedded in the page"});
  replace(page, kStyle, std::string(kPolicy) + "<style>" + sources.style + "</style>");
  const std::string data = script_safe(to_json(snapshot(session, view, bytes, edited, chosen)));
  replace(page, kScript,
          "<script type=\"application/json\" id=\"heed-snapshot\">" + data +
              "</script>\n<script type=\"module\">" + script + "</script>");
  return page;
}

}  // namespace heed
