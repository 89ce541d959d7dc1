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

FlowAt flow_at(const Call& call) {
  FlowAt at{.session = find_session(call), .flow = {}};
  const StackShape& stack = find_stack(*at.session, call);
  require_ready(*at.session);
  at.flow.stack = stack.stack;
  const MatrixSize size = at.session->size(stack.stack);
  at.flow.position = token_asked(call, "position", size.queries - 1, size.queries);
  at.flow.key = token_if_asked(
      call, "key", stack.stack == Stack::kCross ? size.queries + size.keys : size.queries);
  at.flow.named = call.number("named", at.flow.named, 1, 64);
  if (call.choice("by", {"rollout", "effect"}) == 1) at.by = FlowBy::kEffect;
  if (at.by == FlowBy::kEffect && at.session->model() == nullptr)
    refuse_parameter("by", "effect, of a session that cannot be run again", "rollout");
  return at;
}

// At most a hundred lines per kind of work.
bool is_news(std::int64_t done, std::int64_t of) {
  return of <= 100 || done * 100 / of != (done - 1) * 100 / of;
}

using Computed = std::function<std::string(const Check& check, const OnFlowWork& told)>;

// With progress=1, lines with the progress precede the answer.
void send_flow(const Call& call, const FlowAt& at, const Computed& compute) {
  LongAnswer answer{.session = at.session, .compute = serially([compute](const Check& check) {
                                             return compute(check, {});
                                           })};
  if (call.number("progress", 0, 0, 1) == 1)
    answer.compute_in_lines = [compute](Cancel& cancel, const LongAnswer::Tell& tell) {
      const SerialScope serial;
      return compute([&] { cancel.check(); },
                     [&](FlowWork work, std::int64_t done, std::int64_t of) {
                       if (is_news(done, of)) tell(to_json(FlowProgressAnswer{work, done, of}));
                     });
    };
  send_long(call, std::move(answer));
}

}  // namespace

void get_flow(const Call& call) {
  const FlowAt at = flow_at(call);
  send_flow(call, at, [at](const Check& check, const OnFlowWork& told) {
    return to_json(answer_flow(*at.session, at.flow, at.by, check, told));
  });
}

void get_flow_graph(const Call& call) {
  const FlowAt at = flow_at(call);
  constexpr GraphFormat kFormats[] = {GraphFormat::kJson, GraphFormat::kGraphMl, GraphFormat::kDot};
  constexpr const char* kTypes[] = {"application/json; charset=utf-8",
                                    "application/xml; charset=utf-8",
                                    "text/vnd.graphviz; charset=utf-8"};
  constexpr const char* kNames[] = {"json", "graphml", "dot"};
  const std::size_t format = call.choice("format", {kNames[0], kNames[1], kNames[2]});
  call.response.set_header("Content-Disposition",
                           std::string("attachment; filename=\"heed-flow.") + kNames[format] + '"');
  const auto graph = [=](const Check& check) {
    const FlowAnswer answer = answer_flow(*at.session, at.flow, at.by, check);
    return flow_graph(answer.flow, at.session->session(), answer.by, kFormats[format]);
  };
  send_long(call, {.session = at.session, .type = kTypes[format], .compute = serially(graph)});
}

void get_effects(const Call& call) {
  const FlowAt at = flow_at(call);
  if (at.session->model() == nullptr)
    refuse_parameter("session", "one that cannot be run again", "one that this program has run");
  send_flow(call, at, [at](const Check& check, const OnFlowWork& told) {
    return to_json(answer_flow_test(*at.session, at.flow, check, told));
  });
}

}  // namespace heed::serve
