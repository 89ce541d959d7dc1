// Questions about words: the next ones, how likely each was, the lens, branches, beams.
#include <fmt/format.h>

#include <cstring>

#include "base/parallel.h"
#include "base/stop.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
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

WordsRequest words_request(Api& api, const Parameters& parameters) {
  const SessionPointer session = find_session(api, parameters);
  const StackShape& stack = find_stack(*session, parameters);
  require_ready(*session);
  if (stack.stack == Stack::kEncoder)
    refuse(404, "not_found",
           {.argument = "stack",
            .found = "encoder, which reads",
            .expected = "decoder or cross: these write words"});
  return {session, stack.stack, std::ssize(session->session().tokens)};
}

std::int64_t position_of(const WordsRequest& at, const Parameters& parameters) {
  return check_token("position", parameters.number("position", at.length - 1, INT64_MIN, INT64_MAX),
                     at.length);
}

LongAnswer json_answer(const WordsRequest& at,
                       std::function<std::string(const Check& check)> compute) {
  return {.session = at.session, .compute = [compute](Cancel& cancel) {
            const SerialScope serial;
            return compute([&] { cancel.check(); });
          }};
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
  BranchStream(const BranchStream&) = delete;
  BranchStream& operator=(const BranchStream&) = delete;

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

void get_next(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  const std::int64_t position = position_of(at, parameters);
  const std::int64_t top = parameters.number("top", 6, 1, kMostWords);
  if (parameters.number("mask", 0, 0, 1) == 0) {
    const SerialScope serial;
    send_json(response, 200, to_json(answer_next(*at.session, at.stack, position, top)));
    return;
  }
  send_long(api, parameters, response, json_answer(at, [=](const Check& check) {
              check();
              return to_json(answer_words_at(*at.session, at.stack, position, top, true));
            }));
}

void get_logits(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  const std::int64_t position = position_of(at, parameters);
  const bool masked = parameters.number("mask", 0, 0, 1) == 1;
  LongAnswer answer = json_answer(at, [=](const Check& check) {
    check();
    const std::vector<float> logits = word_logits(*at.session, position, masked);
    std::string bytes(logits.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), logits.data(), bytes.size());
    return bytes;
  });
  require_words("next", *at.session);  // before the first byte
  answer.type = "application/octet-stream";
  answer.length = static_cast<std::size_t>(at.session->session().info.vocabulary) * sizeof(float);
  send_long(api, parameters, response, answer);
}

void get_words(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  require_words("words", *at.session);
  send_long(api, parameters, response, json_answer(at, [=](const Check& check) {
              return to_json(answer_words(*at.session, at.stack, check));
            }));
}

void get_lens(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  LensRequest lens;
  lens.begin = check_token("begin", parameters.number("begin", 0, INT64_MIN, INT64_MAX), at.length);
  lens.end = parameters.number("end", std::min(at.length, lens.begin + kMostLensCells),
                               lens.begin + 1, std::min(at.length, lens.begin + kMostLensCells));
  lens.every_block = parameters.number("blocks", 0, 0, 1) == 1;
  if (parameters.request().has_param("at"))
    lens.at = check_token("at", parameters.number("at", 0, INT64_MIN, INT64_MAX), at.length);
  require_words("lens", *at.session);
  send_long(api, parameters, response, json_answer(at, [=](const Check& check) {
              return to_json(answer_lens(*at.session, at.stack, lens, check));
            }));
}

void get_branch(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  if (!parameters.request().has_param("token"))
    refuse(400, "bad_request",
           {.argument = "token", .found = "missing", .expected = "the id of a word"});
  BranchRequest branch{.position = position_of(at, parameters)};
  branch.word = static_cast<TokenId>(parameters.number("token", 0, 0, INT32_MAX));
  branch.most_tokens = parameters.number("most", branch.most_tokens, 1, 512);
  require_words("branch", *at.session);
  const auto stream =
      std::make_shared<BranchStream>(api, at.session, branch, parameters.text("view", ""));
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      kObjectLines, [stream](std::size_t, httplib::DataSink& sink) { return stream->write(sink); });
}

void get_beams(Api& api, const Parameters& parameters, httplib::Response& response) {
  const WordsRequest at = words_request(api, parameters);
  const std::int64_t beams = parameters.number("beams", 4, 2, 16);
  const std::int64_t most = parameters.number("most", 64, 1, 512);
  send_long(api, parameters, response, json_answer(at, [=](const Check& check) {
              return to_json(answer_beams(*at.session, beams, most, check));
            }));
}

}  // namespace heed::serve
