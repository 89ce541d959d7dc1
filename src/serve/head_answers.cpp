// Questions about heads: scores that need passes of the model, evidence, similar heads.
#include <fmt/format.h>

#include "base/formats/json.h"
#include "base/wording.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

constexpr std::size_t kMostPatternRows = 512;

Place place_asked(const LiveSession& session, const StackShape& stack, std::int64_t layer,
                  std::int64_t head) {
  check_layer("session", session.session().model, stack, layer);
  check_head("session", session.session().model, stack, head);
  return {stack.stack, static_cast<int>(layer), static_cast<int>(head)};
}

Place place_asked(const LiveSession& session, const Parameters& parameters) {
  const StackShape& stack = find_stack(session, parameters);
  return place_asked(session, stack, parameters.path_number("layer"),
                     parameters.path_number("head"));
}

// `against=1,3`: another head of the stack.
std::optional<Place> against(const LiveSession& session, const Parameters& parameters) {
  if (!parameters.request().has_param("against")) return {};
  const std::vector<std::int64_t> numbers = parameters.numbers("against", 2);
  if (numbers.size() != 2)
    refuse(400, "bad_request",
           {.argument = "against",
            .found = fmt::format("{} number", numbers.size()),
            .expected = "a layer and a head, as in 1,3"});
  return place_asked(session, find_stack(session, parameters), numbers[0], numbers[1]);
}

ScoreFrom late_from(const Parameters& parameters) {
  const std::string& name = parameters.path("from");
  for (const ScoreFrom from : {ScoreFrom::kProbe, ScoreFrom::kRun})
    if (from_name(from) == name) return from;
  refuse(404, "not_found",
         {.argument = "late", .found = json_string(name), .expected = "probe or run"});
}

std::vector<std::int64_t> numbers_of(const Json& list, const char* name) {
  std::vector<std::int64_t> numbers;
  for (const Json& item : list.items()) {
    const std::optional<std::int64_t> number = item.as_integer();
    if (!number)
      fail({.op = "body", .argument = name, .found = item.brief(), .expected = "whole numbers"});
    numbers.push_back(*number);
  }
  return numbers;
}

std::int64_t whole_number(const Json& body, const char* name) {
  const std::optional<std::int64_t> number = body[name].as_integer();
  if (!number)
    fail({.op = "body",
          .argument = name,
          .found = body[name].brief(),
          .expected = "a whole number"});
  return *number;
}

PatternRow row_of(const Json& row) {
  PatternRow pattern{.query = whole_number(row, "query"), .keys = numbers_of(row["keys"], "keys")};
  for (const Json& weight : row["weights"].items()) {
    const std::optional<double> number = weight.as_number();
    if (!number)
      fail({.op = "body", .argument = "weights", .found = weight.brief(), .expected = "numbers"});
    pattern.weights.push_back(static_cast<float>(*number));
  }
  return pattern;
}

// {"layer", "head"}, {"back"} or {"rows": [{"query", "keys", "weights"?}]}
PatternExample example_of(const LiveSession& session, const StackShape& stack, const Json& body) {
  PatternExample example;
  if (body.has("layer") || body.has("head"))
    example.head =
        place_asked(session, stack, whole_number(body, "layer"), whole_number(body, "head"));
  if (body.has("back")) example.back = whole_number(body, "back");
  if (body["rows"].items().size() > kMostPatternRows)
    fail({.op = "body",
          .argument = "rows",
          .found = number_of(body["rows"].items().size(), "row"),
          .expected = fmt::format("at most {}", kMostPatternRows)});
  for (const Json& row : body["rows"].items()) example.rows.push_back(row_of(row));
  return example;
}

}  // namespace

void get_late(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const Place place = place_asked(*session, parameters);
  const ScoreFrom from = late_from(parameters);
  require_ready(*session);
  LongAnswer answer;
  answer.session = session;
  answer.urgent = false;  // passes of the model take long, so the statistics continue meanwhile
  answer.compute = [session, place, from](Cancel& cancel) {
    return to_json(answer_late(*session, place, from, cancel));
  };
  send_long(api, parameters, response, std::move(answer));
}

void get_evidence(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  EvidenceRequest request{.place = place_asked(*session, parameters)};
  request.score = score_index(parameters.path("score"));
  if (parameters.choice("form", {"raw", "adjusted"}) == 1) request.form = ScoreForm::kSinkAdjusted;
  const std::optional<Place> other = against(*session, parameters);
  require_ready(*session);
  LongAnswer answer;
  answer.session = session;
  answer.urgent = score_infos()[request.score].from == ScoreFrom::kText;
  answer.compute = [session, request, other](Cancel& cancel) {
    return to_json(answer_evidence(*session, request, other, cancel));
  };
  send_long(api, parameters, response, std::move(answer));
}

void post_similar(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const StackShape& stack = find_stack(*session, parameters);
  require_ready(*session);
  const JsonText body =
      JsonText::parse(parameters.request().body, {.file = "body", .unique_keys = true});
  const PatternExample example = example_of(*session, stack, body.root());
  LongAnswer answer;
  answer.session = session;
  answer.compute = [session, stack = stack.stack, example](Cancel& cancel) {
    return to_json(answer_similar(*session, stack, example, cancel));
  };
  send_long(api, parameters, response, std::move(answer));
}

void get_alignment(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const SessionPointer from = api.sessions.find(parameters.text("from", ""));
  send_json(response, 200, to_json(answer_alignment(*session, *from)));
}

void get_changes(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const Stack stack = find_stack(*session, parameters).stack;
  const SessionPointer from = api.sessions.find(parameters.text("from", ""));
  require_ready(*session);
  require_ready(*from);
  check_same_heads(*session, *from, stack);
  send_long(api, parameters, response, long_answer(session, [session, from, stack](Cancel& cancel) {
              return to_json(answer_changes(*session, *from, stack, cancel));
            }));
}

}  // namespace heed::serve
