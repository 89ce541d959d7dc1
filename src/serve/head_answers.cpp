// Questions about heads: scores that need passes of the model, evidence, similar heads.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/wording.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/view.h"
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

}  // namespace heed::serve
