// Questions about a flow: the graph, as an answer or a file, and its test.
#include "base/parallel.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/flow.h"
#include "inspect/answers/questions.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

struct FlowAt {
  SessionPointer session;
  FlowRequest flow;
  FlowBy by = FlowBy::kRollout;
};

FlowAt flow_at(Api& api, const Parameters& parameters) {
  FlowAt at{.session = find_session(api, parameters), .flow = {}};
  const StackShape& stack = find_stack(*at.session, parameters);
  require_ready(*at.session);
  at.flow.stack = stack.stack;
  const MatrixSize size = at.session->size(stack.stack);
  at.flow.position =
      check_token("position", parameters.number("position", size.queries - 1, INT64_MIN, INT64_MAX),
                  size.queries);
  if (parameters.request().has_param("key")) {
    const std::int64_t nodes =
        stack.stack == Stack::kCross ? size.queries + size.keys : size.queries;
    at.flow.key = check_token("key", parameters.number("key", 0, INT64_MIN, INT64_MAX), nodes);
  }
  at.flow.named = parameters.number("named", at.flow.named, 1, 64);
  if (parameters.choice("by", {"rollout", "effect"}) == 1) at.by = FlowBy::kEffect;
  if (at.by == FlowBy::kEffect && at.session->model() == nullptr)
    refuse(400, "bad_request",
           {.argument = "by",
            .found = "effect, of a session that cannot be run again",
            .expected = "rollout"});
  return at;
}

LongAnswer text_answer(const FlowAt& at, const char* type,
                       std::function<std::string(const Check& check)> compute) {
  return {.session = at.session, .type = type, .compute = [compute](Cancel& cancel) {
            const SerialScope serial;
            return compute([&] { cancel.check(); });
          }};
}

constexpr const char* kJson = "application/json; charset=utf-8";

// At most a hundred lines per kind of work.
bool is_news(std::int64_t done, std::int64_t of) {
  return of <= 100 || done * 100 / of != (done - 1) * 100 / of;
}

using Computed = std::function<std::string(const Check& check, const OnFlowWork& told)>;

// With progress=1, lines with the progress precede the answer.
void send_flow(Api& api, const Parameters& parameters, httplib::Response& response,
               const FlowAt& at, const Computed& compute) {
  LongAnswer answer =
      text_answer(at, kJson, [compute](const Check& check) { return compute(check, {}); });
  if (parameters.number("progress", 0, 0, 1) == 1)
    answer.compute_in_lines = [compute](Cancel& cancel, const LongAnswer::Tell& tell) {
      const SerialScope serial;
      return compute([&] { cancel.check(); },
                     [&](FlowWork work, std::int64_t done, std::int64_t of) {
                       if (is_news(done, of)) tell(to_json(FlowProgressAnswer{work, done, of}));
                     });
    };
  send_long(api, parameters, response, std::move(answer));
}

}  // namespace

void get_flow(Api& api, const Parameters& parameters, httplib::Response& response) {
  const FlowAt at = flow_at(api, parameters);
  send_flow(api, parameters, response, at, [at](const Check& check, const OnFlowWork& told) {
    return to_json(answer_flow(*at.session, at.flow, at.by, check, told));
  });
}

void get_flow_graph(Api& api, const Parameters& parameters, httplib::Response& response) {
  const FlowAt at = flow_at(api, parameters);
  constexpr GraphFormat kFormats[] = {GraphFormat::kJson, GraphFormat::kGraphMl, GraphFormat::kDot};
  constexpr const char* kTypes[] = {kJson, "application/xml; charset=utf-8",
                                    "text/vnd.graphviz; charset=utf-8"};
  constexpr const char* kNames[] = {"json", "graphml", "dot"};
  const std::size_t format = parameters.choice("format", {kNames[0], kNames[1], kNames[2]});
  response.set_header("Content-Disposition",
                      std::string("attachment; filename=\"heed-flow.") + kNames[format] + '"');
  send_long(api, parameters, response, text_answer(at, kTypes[format], [=](const Check& check) {
              const FlowAnswer answer = answer_flow(*at.session, at.flow, at.by, check);
              return flow_graph(answer.flow, at.session->session(), answer.by, kFormats[format]);
            }));
}

void get_effects(Api& api, const Parameters& parameters, httplib::Response& response) {
  const FlowAt at = flow_at(api, parameters);
  if (at.session->model() == nullptr)
    refuse(400, "bad_request",
           {.argument = "session",
            .found = "one that cannot be run again",
            .expected = "one that this program has run"});
  send_flow(api, parameters, response, at, [at](const Check& check, const OnFlowWork& told) {
    return to_json(answer_flow_test(*at.session, at.flow, check, told));
  });
}

}  // namespace heed::serve
