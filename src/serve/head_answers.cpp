// Questions about heads: scores that need passes of the model, evidence, similar heads. Questions
// about one weight, and sessions derived from others.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "base/formats/json.h"
#include "base/wording.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/view.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/heads/similar_heads.h"
#include "serve/api.h"
#include "serve/body.h"

namespace heed::serve {
namespace {

constexpr std::size_t kMostPatternRows = 512;

// `against=1,3`: another head of the stack.
std::optional<Place> against(const LiveSession& session, const Parameters& parameters) {
  if (!parameters.request().has_param("against")) return {};
  const std::vector<std::int64_t> numbers = parameters.numbers("against", 2);
  if (numbers.size() != 2)
    refuse_parameter("against", fmt::format("{} number", numbers.size()),
                     "a layer and a head, as in 1,3");
  return place_asked(session, find_stack(session, parameters), numbers[0], numbers[1]);
}

ScoreFrom late_from(const Parameters& parameters) {
  const std::string& name = parameters.path("from");
  for (const ScoreFrom from : {ScoreFrom::kProbe, ScoreFrom::kRun})
    if (from_name(from) == name) return from;
  refuse(404, "not_found",
         {.argument = "late", .found = json_string(name), .expected = "probe or run"});
}

PatternRow row_of(const Json& row) {
  PatternRow pattern{.query = whole_number(row["query"], "query"), .keys = {}};
  for (const Json& key : row["keys"].items()) {
    const auto number = key.as_integer();
    if (!number) refuse_field("keys", key, "whole numbers");
    pattern.keys.push_back(*number);
  }
  for (const Json& weight : row["weights"].items()) {
    const auto number = weight.as_number();
    if (!number) refuse_field("weights", weight, "numbers");
    pattern.weights.push_back(static_cast<float>(*number));
  }
  return pattern;
}

// {"layer", "head"}, {"back"} or {"rows": [{"query", "keys", "weights"?}]}
PatternExample example_of(const LiveSession& session, const StackShape& stack, const Json& body) {
  PatternExample example;
  if (body.has("layer") || body.has("head"))
    example.head = place_asked(session, stack, whole_number(body["layer"], "layer"),
                               whole_number(body["head"], "head"));
  if (body.has("back")) example.back = whole_number(body["back"], "back");
  if (body["rows"].items().size() > kMostPatternRows)
    fail("body", "rows", number_of(body["rows"].items().size(), "row"),
         fmt::format("at most {}", kMostPatternRows));
  for (const Json& row : body["rows"].items()) example.rows.push_back(row_of(row));
  return example;
}

SessionPointer session_beside(const Call& call) {
  return call.api.sessions.find(call.required("from", "the id of another session"));
}

void require_scored(const LiveSession& session) {
  require_ready(session);
  if (!session.progress().scored)
    refuse(409, "not_ready",
           {.found = fmt::format("the heads of session {} have not been scored", session.id),
            .hint = "wait for the event chosen"});
}

}  // namespace

void get_chosen(const Call& call) {
  const SessionPointer session = find_session(call);
  const Stack stack = find_stack(*session, call).stack;
  ViewAddress view;
  view.query = token_if_asked(call, "query", session->size(stack).queries);
  view.key = token_if_asked(call, "key", session->size(stack).keys);
  if (!view.query && view.key) {  // a column, whose key is the view's token
    view.query = std::exchange(view.key, std::nullopt);
    view.to = true;
  }
  require_scored(*session);
  send_answer(call, session, [=](Cancel&) { return answer_chosen(session->chosen(stack, view)); });
}

void get_late(const Call& call) {
  const SessionPointer session = find_session(call);
  const Place place = place_of_path(*session, call);
  const ScoreFrom from = late_from(call);
  require_ready(*session);
  const auto compute = [session, place, from](Cancel& cancel) {
    return to_json(answer_late(*session, place, from, cancel));
  };
  // Passes of the model take long, so the statistics continue meanwhile.
  send_long(call, {.session = session, .compute = compute, .urgent = false});
}

void get_evidence(const Call& call) {
  const SessionPointer session = find_session(call);
  EvidenceRequest request{.place = place_of_path(*session, call)};
  request.score = score_index(call.path("score"));
  if (call.choice("form", {"raw", "adjusted"}) == 1) request.form = ScoreForm::kSinkAdjusted;
  const std::optional<Place> other = against(*session, call);
  require_ready(*session);
  const bool urgent = score_infos()[request.score].from == ScoreFrom::kText;
  const auto answer = [=](Cancel& cancel) {
    return answer_evidence(*session, request, other, cancel);
  };
  send_answer(call, session, answer, urgent);
}

void post_similar(const Call& call) {
  const SessionPointer session = find_session(call);
  const StackShape& stack = find_stack(*session, call);
  require_ready(*session);
  const JsonText body = parse_body(call.request().body);
  const PatternExample example = example_of(*session, stack, body.root());
  check_example(session->session(), stack.stack, example);
  send_answer(call, session, [=, stack = stack.stack](Cancel& cancel) {
    return answer_similar(*session, stack, example, cancel);
  });
}

void get_alignment(const Call& call) {
  const SessionPointer session = find_session(call);
  const SessionPointer from = session_beside(call);
  send_json(call.response, 200, to_json(answer_alignment(*session, *from)));
}

void get_changes(const Call& call) {
  const SessionPointer session = find_session(call);
  const Stack stack = find_stack(*session, call).stack;
  const SessionPointer from = session_beside(call);
  require_ready(*session);
  require_ready(*from);
  check_same_heads(*session, *from, stack);
  send_answer(call, session,
              [=](Cancel& cancel) { return answer_changes(*session, *from, stack, cancel); });
}

namespace {

std::int64_t query_of(const HeadRequest& at, const Parameters& parameters) {
  return token_of_path(parameters, "query", at.size.queries);
}

WhyRequest cell_of(const HeadRequest& at, const Parameters& parameters) {
  return {.place = at.place,
          .query = query_of(at, parameters),
          .key = token_of_path(parameters, "key", at.size.keys)};
}

// The list that contains the key: the first stack's queries, the source's tokens, ...
EditedToken key_token(const HeadRequest& at, std::int64_t key) {
  const Session& session = at.session->session();
  const bool own = session.keys(at.place.stack).data() == session.tokens.data();
  return {own ? TokenSide::kTokens : TokenSide::kKeyTokens, key};
}

// One edit, in the form of a cell's test.
Edits tested(const HeadRequest& at, const WhyRequest& cell, const Parameters& parameters) {
  const std::size_t edit = parameters.choice("edit", {"remove", "ablate", "swap"});
  if (edit == 0) return {.remove = {{cell.place, cell.query, cell.key}}};
  if (edit == 1) return {.ablate = {cell.place}};
  const EditedToken token = key_token(at, cell.key);
  if (parameters.request().has_param("text"))
    return {.swap = {{token,
                      one_token(at.session->session(), token.side, parameters.text("text", ""))}}};
  if (!parameters.request().has_param("id"))
    refuse_parameter("id", "missing", "id or text of the other token");
  const std::int64_t id = parameters.number("id", 0, 0, INT32_MAX);
  return {.swap = {{token, static_cast<std::int32_t>(id)}}};
}

}  // namespace

void get_why(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  send_answer(call, at.session, [=](Cancel&) { return answer_why(*at.session, cell); });
}

void get_origins(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  OriginsRequest request{cell.place, cell.query, cell.key};
  constexpr std::array kAgainst = {Against::kMean, Against::kRaw, Against::kRunner};
  request.against = kAgainst.at(call.choice("against", {"mean", "raw", "runner_up"}));
  if (call.request().has_param("split")) request.split = call.text("split", "");
  send_answer(call, at.session, [=](Cancel&) { return answer_origins(*at.session, request); });
}

void get_effect(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  const std::int64_t top = call.number("top", 4, 1, 64);
  send_answer(call, at.session, [=](Cancel&) { return answer_effect(*at.session, cell, top); });
}

void get_test(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest cell = cell_of(at, call);
  at.session->require_model();
  const Edits edits = tested(at, cell, call);
  check_edits("test", at.session->session(), edits);
  const std::int64_t top = call.number("top", 5, 1, 64);
  send_answer(call, at.session,
              [=](Cancel&) { return answer_trial(*at.session, edits, cell, top); });
}

void get_anatomy(const Call& call) {
  const HeadRequest at = head_request(call);
  const WhyRequest window = {at.place, token_asked(call, "query", 0, at.size.queries),
                             token_asked(call, "key", 0, at.size.keys)};
  send_answer(call, at.session, [=](Cancel&) { return answer_anatomy(*at.session, window); });
}

void get_dimensions(const Call& call) {
  const HeadRequest at = head_request(call);
  const DimensionsRequest request = {at.place, query_of(at, call),
                                     token_if_asked(call, "key", at.size.keys),
                                     call.number("most", 16, 1, 64)};
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_dimensions(*at.session, request, cancel); });
}

void get_geometry(const Call& call) {
  const HeadRequest at = head_request(call);
  const GeometryRequest request = {at.place, query_of(at, call),
                                   token_if_asked(call, "key", at.size.keys),
                                   call.choice("rotation", {"after", "before"}) == 1};
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_geometry(*at.session, request, cancel); });
}

void post_derive(const Call& call) {
  const SessionPointer base = find_session(call);
  require_ready(*base);
  base->require_model();
  const JsonText json = parse_body(call.request().body);
  const auto [session, fresh] =
      call.api.sessions.derive(base, edits_of(json.root(), base->session()));
  send_json(call.response, fresh ? 201 : 200, to_json(answer_session(*session)));
}

}  // namespace heed::serve
