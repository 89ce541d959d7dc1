#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/look.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/saved/held.h"

namespace heed {
namespace {

constexpr std::int64_t kShownWords = 12;
constexpr std::int64_t kBranches = 4;
constexpr std::int64_t kBranchTokens = 27;
constexpr std::int64_t kMostLensCells = 1 << 15;  // of a lens
const Check kNever = [] {};

using Answers = std::map<std::string, std::string>;

// The stack whose tokens are words.
Stack words_stack(const Session& session) {
  for (const SessionStack& stack : session.stacks)
    if (stack.shape.stack != Stack::kEncoder) return stack.shape.stack;
  return session.stacks.front().shape.stack;
}

std::string branch_lines(const LiveSession& live, std::int64_t position, TokenId word) {
  Branch branch(live.session(), *live.model(),
                {.position = position, .word = word, .most_tokens = kBranchTokens});
  std::string lines;
  while (const auto token = branch.next())
    lines +=
        to_json(BranchTokenAnswer{token->token.id, token->bytes, token->token.probability}) + '\n';
  return lines +
         to_json(
             BranchEndAnswer{std::string(branch.ended()), branch.tokens(), branch.bits_a_token()}) +
         '\n';
}

void hold_branches(const LiveSession& live, const std::string& name, std::int64_t position,
                   const NextAnswer& next, Answers& held) {
  const ModelInfo& info = live.session().info;
  if (!info.writes() || position + 1 >= info.positions) return;
  for (std::size_t at = 0; at < std::min<std::size_t>(kBranches, next.words.size()); ++at) {
    const TokenId word = next.words[at].id;
    held[fmt::format("{}/branch?position={}&token={}&most={}", name, position, word,
                     kBranchTokens)] = branch_lines(live, position, word);
  }
}

// For the whole text: the page selects the visible window.
void hold_lens(const LiveSession& live, Stack stack, std::int64_t position, Answers& held) {
  const Session& session = live.session();
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t levels = session.info.layers + 1;
  const std::int64_t around = std::clamp<std::int64_t>(kMostLensCells / levels, 32, length);
  LensRequest lens{.begin = std::clamp<std::int64_t>(position - around / 2, 0,
                                                     std::max<std::int64_t>(length - around, 0)),
                   .at = position};
  lens.end = std::min(length, lens.begin + around);
  held[fmt::format("{}/lens", stack_name(stack))] = to_json(answer_lens(live, stack, lens, kNever));
}

// An encoder's predictions with this token masked.
void hold_masked(const LiveSession& live, Stack stack, std::int64_t position, Answers& held) {
  const std::string_view name = stack_name(stack);
  held[fmt::format("{}/next?position={}&top={}&mask=1", name, position, kShownWords)] =
      to_json(answer_words_at(live, stack, position, kShownWords, true));
  held[fmt::format("{}/logits?position={}&mask=1", name, position)] =
      packed(word_logits(live, position, true));
}

Answers words_answers(const LiveSession& live, const ViewAddress& view) {
  Answers held;
  const Session& session = live.session();
  const Stack stack = words_stack(session);
  const std::string name(stack_name(stack));
  const std::int64_t last = std::ssize(session.tokens) - 1;
  const std::int64_t position = std::min(view.query.value_or(last), last);
  const NextAnswer next = answer_words_at(live, stack, position, kShownWords);
  const std::string at = fmt::format("?position={}", position);
  held[name + "/words"] = to_json(answer_words(live, stack, kNever));
  held[fmt::format("{}/next{}&top={}", name, at, kShownWords)] = to_json(next);
  held[name + "/logits" + at] = packed(word_logits(live, position, false));
  hold_branches(live, name, position, next, held);
  hold_lens(live, stack, position, held);
  if (session.info.reads_source())
    held[name + "/beams?beams=4"] = to_json(answer_beams(live, 4, 64, kNever));
  if (!session.info.writes()) hold_masked(live, stack, position, held);
  return held;
}

Answers flow_answers(const LiveSession& live, const ViewAddress& view) {
  Answers held;
  const Stack stack = place_of(view.places.front(), live.shapes()).stack;
  const std::string name(stack_name(stack));
  const MatrixSize size = live.size(stack);
  FlowRequest flow{.stack = stack,
                   .position = std::min(view.query.value_or(size.queries - 1), size.queries - 1)};
  if (view.key) flow.key = *view.key + (stack == Stack::kCross ? size.queries : 0);
  if (flow.key && *flow.key == flow.position) flow.key.reset();
  for (const FlowBy by : {FlowBy::kRollout, FlowBy::kEffect}) {
    if (by == FlowBy::kEffect && live.model() == nullptr) return held;
    const FlowAnswer answer = answer_flow(live, flow, by, kNever);
    held[fmt::format("{}/flow?position={}&by={}", name, flow.position, answer.by)] =
        to_json(answer);
  }
  held[fmt::format("{}/effects?position={}", name, flow.position)] =
      to_json(answer_flow_test(live, flow, kNever));
  return held;
}

using HeadPath = std::pair<Place, std::string>;

HeadPath head_of(const LiveSession& live, const ViewAddress& view) {
  const Place place = place_of(view.places.front(), live.shapes());
  return {place, fmt::format("{}/{}/{}", stack_name(place.stack), place.layer, place.head)};
}

// Omits what a model cannot answer; the page then says so.
void hold_if_said(Answers& held, const std::string& question, auto make) {
  try {
    held[question] = to_json(make());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported && error.code() != ErrorCode::kNotFound) throw;
  }
}

// The cell that the page explains: if only a row is chosen, its largest weight.
WhyRequest cell_of(const LiveSession& live, const ViewAddress& view, const Place& place) {
  const MatrixSize size = live.size(place.stack);
  const bool column = view.to && !view.key;
  WhyRequest cell = {place, column ? size.queries - 1 : view.query.value_or(size.queries - 1), 0};
  if (view.key || column) {
    cell.key = view.key.value_or(view.query.value_or(0));
    return cell;
  }
  const std::vector<LookRow> rows =
      look_rows(live.layer(place), place.head, std::vector{cell.query}, -1);
  const auto& keys = rows.at(0).attends;
  if (!keys.empty()) cell.key = std::ranges::max_element(keys, {}, &LookKey::weight)->key;
  return cell;
}

// The row by dimension, and its plane; if it is rotated by position, also the plane before
// rotation.
void hold_row(const LiveSession& live, const std::string& path, const WhyRequest& cell,
              Answers& held) {
  Cancel cancel;
  hold_if_said(held, fmt::format("{}/dimensions/{}?key={}", path, cell.query, cell.key),
               [&] { return answer_dimensions(live, {cell.place, cell.query, cell.key}, cancel); });
  const bool is_long =
      live.size(cell.place.stack).keys > kPlaneNearest;  // otherwise the page names no key
  const std::string key = is_long ? fmt::format("&key={}", cell.key) : "";
  bool turned = false;
  const auto hold_plane = [&](const char* rotation, bool still) {
    hold_if_said(
        held, fmt::format("{}/geometry/{}?rotation={}{}", path, cell.query, rotation, key), [&] {
          Geometry plane = answer_geometry(live, {cell.place, cell.query, cell.key, still}, cancel);
          turned = plane.turned;
          return plane;
        });
  };
  hold_plane("after", false);
  if (turned) hold_plane("before", true);
}

Answers why_answers(const LiveSession& live, const ViewAddress& view) {
  constexpr std::int64_t kWritten = 4, kTried = 5;  // words, as the page asks for
  const auto [place, path] = head_of(live, view);
  const WhyRequest cell = cell_of(live, view, place);
  const std::string base = fmt::format("{}/why/{}/{}", path, cell.query, cell.key);
  Answers held;
  held[base] = to_json(answer_why(live, cell));
  for (const auto& [name, against] :
       {std::pair("mean", Against::kMean), {"raw", Against::kRaw}, {"runner_up", Against::kRunner}})
    hold_if_said(held, fmt::format("{}/origins?against={}", base, name), [&] {
      return answer_origins(live, {cell.place, cell.query, cell.key, against, {}});
    });
  hold_if_said(held, base + "/effect", [&] { return answer_effect(live, cell, kWritten); });
  hold_if_said(held, base + "/test?edit=remove", [&] {
    return answer_trial(live, {.remove = {{cell.place, cell.query, cell.key}}}, cell, kTried);
  });
  hold_if_said(held, base + "/test?edit=ablate",
               [&] { return answer_trial(live, {.ablate = {cell.place}}, cell, kTried); });
  hold_row(live, path, cell, held);
  return held;
}

// The panels beside the matrix: the lens of the shown word, why the pinned edge has its weight, and
// for a cross-attention the effect of hiding each source token.
Answers look_answers(const LiveSession& live, const ViewAddress& view) {
  constexpr std::int64_t kTried = 1024;  // tokens up to which the page runs the test, and
  constexpr std::int64_t kHidden = 16;   // for a source
  Answers held;
  const auto [place, path] = head_of(live, view);
  const MatrixSize size = live.size(place.stack);
  const std::string name(stack_name(place.stack));
  const std::int64_t last = view.range ? view.range->second : size.queries - 1;
  const std::int64_t position = std::min(view.query.value_or(last), size.queries - 1);
  if (place.stack != Stack::kEncoder)  // whose tokens are no words of the model
    hold_if_said(held, name + "/lens", [&] {
      const LensRequest lens{
          .begin = position, .end = position + 1, .every_block = true, .at = position};
      return answer_lens(live, place.stack, lens, kNever);
    });
  if (place.stack == Stack::kCross && view.query && size.keys <= kHidden)
    hold_if_said(held, fmt::format("{}/effects?position={}", name, position), [&] {
      return answer_flow_test(live, {.stack = place.stack, .position = position}, kNever);
    });
  if (!view.query || !view.key) return held;
  const WhyRequest cell = {place, *view.query, *view.key};
  const std::string base = fmt::format("{}/why/{}/{}", path, cell.query, cell.key);
  hold_if_said(held, base, [&] { return answer_why(live, cell); });
  if (size.longer() <= kTried)
    hold_if_said(held, base + "/test?edit=remove&top=1", [&] {
      return answer_trial(live, {.remove = {{cell.place, cell.query, cell.key}}}, cell, 1);
    });
  return held;
}

// The score that the page ranks by, and the same on the probe.
std::vector<std::size_t> ranked_scores(const ViewAddress& view) {
  const std::string name = view.sort == ViewAddress{}.sort ? "previous" : view.sort;
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < score_infos().size(); ++at)
    if (score_infos()[at].name == name || score_infos()[at].name == "probe_" + name)
      found.push_back(at);
  return found;
}

// The evidence for the chosen head's ranking, in both forms, and the heads similar to it.
Answers heads_answers(LiveSession& live, const ViewAddress& view) {
  const auto [place, path] = head_of(live, view);
  Cancel cancel;
  Answers held;
  for (const std::size_t score : ranked_scores(view)) {
    for (const auto& [form, name] :
         {std::pair(ScoreForm::kRaw, "raw"), {ScoreForm::kSinkAdjusted, "adjusted"}})
      hold_if_said(held,
                   fmt::format("{}/evidence/{}?form={}", path, score_infos()[score].name, name),
                   [&] { return answer_evidence(live, {place, score, form}, {}, cancel); });
  }
  held[fmt::format("{}/similar?layer={}&head={}", stack_name(place.stack), place.layer,
                   place.head)] =
      to_json(answer_similar(live, place.stack, {.head = place}, cancel));
  return held;
}

// The window that the page shows around the cell.
Answers anatomy_answers(const LiveSession& live, const ViewAddress& view) {
  constexpr std::int64_t kRows = 16;
  const auto [place, path] = head_of(live, view);
  const MatrixSize size = live.size(place.stack);
  const Session& session = live.session();
  const bool square = session.queries(place.stack).data() == session.keys(place.stack).data();
  const bool column = view.to && !view.key;
  const std::int64_t query = column ? size.queries - 1 : view.query.value_or(size.queries - 1);
  const std::int64_t key =
      view.key.value_or(column ? view.query.value_or(0) : std::min(query, size.keys - 1));
  const std::int64_t rows = std::min(kRows, size.queries), keys = std::min(kRows, size.keys);
  WhyRequest window = {place, std::clamp<std::int64_t>(query - rows + 1 + (square ? 0 : rows / 2),
                                                       0, size.queries - rows)};
  const bool near = square && key >= window.query && key < window.query + keys;
  window.key = near ? window.query : std::clamp<std::int64_t>(key - keys / 2, 0, size.keys - keys);
  return {{path + "/anatomy", to_json(answer_anatomy(live, window))}};
}

}  // namespace

Answers held_answers(LiveSession& session, const ViewAddress& view) {
  if (view.view == "heads") return heads_answers(session, view);
  if (view.view == "flow") return flow_answers(session, view);
  if (session.model() == nullptr) return {};
  if (view.view == "look") return look_answers(session, view);
  if (view.view == "why") return why_answers(session, view);
  if (view.view == "anatomy") return anatomy_answers(session, view);
  if (view.view != "words" || session.session().streams.empty()) return {};
  return words_answers(session, view);
}

}  // namespace heed
