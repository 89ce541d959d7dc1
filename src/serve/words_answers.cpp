// Questions about words: the next ones, how likely each was, the lens, branches, beams. Questions
// about a flow: the graph, as an answer or a file, and its test.

#include "base/parallel.h"
#include "base/stop.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/why.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

constexpr std::int64_t kMostWords = 64;
constexpr std::int64_t kMostLensCells = 4096;  // positions of a lens per answer

// A session and one of its stacks, for a question about words.
struct WordsRequest {
  SessionPointer session;
  Stack stack = Stack::kSelf;
  std::int64_t length = 0;
};

WordsRequest words_request(const Call& call) {
  const SessionPointer session = find_session(call);
  const StackShape& stack = find_stack(*session, call);
  require_ready(*session);
  if (stack.stack == Stack::kEncoder)
    refuse(404, "not_found",
           {.argument = "stack",
            .found = "encoder, which reads",
            .expected = "decoder or cross: these write words"});
  return {session, stack.stack, std::ssize(session->session().tokens)};
}

std::int64_t position_of(const WordsRequest& at, const Parameters& parameters) {
  return token_asked(parameters, "position", at.length - 1, at.length);
}

// Sends the JSON of what `answer(check)` returns, computed on one thread.
void send_words(const Call& call, const WordsRequest& at, auto answer) {
  send_long(call, {.session = at.session, .compute = serially([answer](const Check& check) {
                                            return to_json(answer(check));
                                          })});
}

// Writes a branch, one line per token.
class BranchStream {
 public:
  BranchStream(Api& api, SessionPointer session, const BranchRequest& request, std::string view)
      : api_(api),
        session_(std::move(session)),
        view_(std::move(view)),
        superseded_(session_->views.enter(view_)),
        flag_(superseded_ ? superseded_ : std::make_shared<std::atomic<bool>>(false)),
        branch_(session_->session(), *session_->model(), request) {}
  ~BranchStream() { session_->views.leave(view_, superseded_); }
  BranchStream& operator=(BranchStream&&) = delete;

  // Writes the next line; false once the client is gone.
  bool write(httplib::DataSink& sink) {
    if (api_.stopping || !sink.is_writable()) return false;
    const std::string line = next_line() + '\n';
    if (!sink.write(line.data(), line.size())) return false;
    if (ended_) sink.done();
    return true;
  }

 private:
  std::string next_line() {
    try {
      if (*flag_) fail({.code = ErrorCode::kInterrupted, .found = "replaced"});
      const SerialScope serial;
      const StopScope scope(*flag_);
      if (const auto token = branch_.next())
        return to_json(BranchTokenAnswer{token->token.id, token->bytes, token->token.probability});
      ended_ = true;
      return to_json(
          BranchEndAnswer{std::string(branch_.ended()), branch_.tokens(), branch_.bits_a_token()});
    } catch (const std::exception&) {
      ended_ = true;
      return *flag_ ? replaced_json() : error_json(api_error(std::current_exception()));
    }
  }

  Api& api_;
  SessionPointer session_;
  std::string view_;
  Flag superseded_;  // null: no other request has the name
  Flag flag_;
  Branch branch_;
  bool ended_ = false;
};

}  // namespace

void get_next(const Call& call) {
  const WordsRequest at = words_request(call);
  const std::int64_t position = position_of(at, call);
  const std::int64_t top = call.number("top", 6, 1, kMostWords);
  if (call.number("mask", 0, 0, 1) == 0) {
    const SerialScope serial;
    send_json(call.response, 200, to_json(answer_next(*at.session, at.stack, position, top)));
    return;
  }
  send_words(call, at, [=](const Check& check) {
    check();
    return answer_words_at(*at.session, at.stack, position, top, true);
  });
}

void get_logits(const Call& call) {
  const WordsRequest at = words_request(call);
  const std::int64_t position = position_of(at, call);
  const bool masked = call.number("mask", 0, 0, 1) == 1;
  require_words("next", *at.session);  // before the first byte
  const auto words = static_cast<std::size_t>(at.session->session().info.vocabulary);
  const auto compute = [=](const Check& check) {
    check();
    const std::vector<float> logits = word_logits(*at.session, position, masked);
    return std::string(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
  };
  send_long(call,
            {at.session, "application/octet-stream", words * sizeof(float), serially(compute)});
}

void get_words(const Call& call) {
  const WordsRequest at = words_request(call);
  require_words("words", *at.session);
  send_words(call, at,
             [=](const Check& check) { return answer_words(*at.session, at.stack, check); });
}

void get_lens(const Call& call) {
  const WordsRequest at = words_request(call);
  LensRequest lens;
  lens.begin = token_asked(call, "begin", 0, at.length);
  lens.end = call.number("end", std::min(at.length, lens.begin + kMostLensCells), lens.begin + 1,
                         std::min(at.length, lens.begin + kMostLensCells));
  lens.every_block = call.number("blocks", 0, 0, 1) == 1;
  lens.at = token_if_asked(call, "at", at.length);
  require_words("lens", *at.session);
  send_words(call, at,
             [=](const Check& check) { return answer_lens(*at.session, at.stack, lens, check); });
}

void get_branch(const Call& call) {
  const WordsRequest at = words_request(call);
  call.required("token", "the id of a word");
  BranchRequest branch{.position = position_of(at, call)};
  branch.word = static_cast<TokenId>(call.number("token", 0, 0, INT32_MAX));
  branch.most_tokens = call.number("most", branch.most_tokens, 1, 512);
  require_words("branch", *at.session);
  const auto stream =
      std::make_shared<BranchStream>(call.api, at.session, branch, call.text("view", ""));
  call.response.set_header("Cache-Control", "no-store");
  call.response.set_chunked_content_provider(
      kObjectLines, [stream](std::size_t, httplib::DataSink& sink) { return stream->write(sink); });
}

void get_beams(const Call& call) {
  const WordsRequest at = words_request(call);
  const std::int64_t beams = call.number("beams", 4, 2, 16);
  const std::int64_t most = call.number("most", 64, 1, 512);
  send_words(call, at,
             [=](const Check& check) { return answer_beams(*at.session, beams, most, check); });
}

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
