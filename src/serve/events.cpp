// A session's event stream: first the tokens, then the background thread's results.
#include <fmt/format.h>

#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(200);  // between checks whether to stop
constexpr int kQuietRounds = 50;  // then sends a comment, so that the client does not give up
constexpr std::int64_t kFirstWords = 6;

std::string event(const char* name, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

// One client's stream: what was sent, and what comes next.
class Stream {
 public:
  Stream(Api& api, SessionPointer session, Stack stack, bool tokens)
      : api_(api), session_(std::move(session)), stack_(stack), tokens_(tokens) {}
  ~Stream() { --api_.streams; }
  Stream& operator=(Stream&&) = delete;

  // Waits for news and writes them; false once the client is gone.
  bool write(httplib::DataSink& sink) {
    if (api_.stopping || !sink.is_writable()) return false;
    const LiveSession::Progress progress = session_->wait(version_, kPatience);
    if (progress.version == version_ && !session_->dropped) return quiet(sink);
    quiet_rounds_ = 0;
    const std::string text = news(progress);
    version_ = progress.version;
    if (!text.empty() && !sink.write(text.data(), text.size())) return false;
    if (ended_) sink.done();
    return true;
  }

 private:
  bool quiet(httplib::DataSink& sink) {
    if (++quiet_rounds_ < kQuietRounds) return true;
    quiet_rounds_ = 0;
    constexpr std::string_view kComment = ": still there\n\n";
    return sink.write(kComment.data(), kComment.size());
  }

  std::string news(const LiveSession::Progress& progress) {
    std::string text;
    if (version_ < 0 && tokens_) text += event("tokens", to_json(answer_session(*session_)));
    if (session_->dropped)
      return text +
             failure({404, {.code = "unknown_session", .message = "the session was dropped"}});
    if (progress.failed) return text + failure(api_error(progress.failed));
    if (progress.ready && !told_next_) text += next_words();
    told_next_ = progress.ready;
    for (; told_layers_ < progress.order.size(); ++told_layers_)
      text += layer(session_->place_of(progress.order[told_layers_]));
    if (!progress.scored) return text;
    ended_ = true;
    return text + event("chosen", to_json(answer_chosen(session_->chosen(stack_)))) +
           event("done", "{}");
  }

  std::string next_words() const {
    const std::int64_t last = std::ssize(session_->session().tokens) - 1;
    const bool reads = session_->session().info.reads_source() && stack_ == Stack::kEncoder;
    return event("next", to_json(answer_next(*session_, reads ? Stack::kDecoder : stack_, last,
                                             kFirstWords)));
  }

  std::string layer(const Place& place) const {
    LayerHeadsAnswer answer = answer_layer(*session_, place.stack, place.layer);
    answer.done = static_cast<std::int64_t>(told_layers_) + 1;
    answer.of = static_cast<std::int64_t>(session_->layer_count());
    return event("heads", to_json(answer));
  }

  std::string failure(const ApiError& error) {
    ended_ = true;
    return event("failed", error_json(error));
  }

  Api& api_;
  SessionPointer session_;
  Stack stack_;  // of the first head to show
  bool tokens_;  // wanted
  std::int64_t version_ = -1;
  bool told_next_ = false;
  std::size_t told_layers_ = 0;
  int quiet_rounds_ = 0;
  bool ended_ = false;
};

}  // namespace

void get_events(const Call& call) {
  const SessionPointer session = find_session(call);
  const StackShape& stack =
      stack_named(session->session().model, session->shapes(), call.text("stack", ""));
  if (call.request().has_param("layer"))
    layer_in_view(*session, stack, call.number("layer", 0, INT64_MIN, INT64_MAX));
  const bool tokens = call.number("tokens", 1, 0, 1) == 1;
  if (++call.api.streams > call.api.options.limits.streams) {
    --call.api.streams;
    call.response.set_header("Retry-After", "1");
    refuse(503, "busy",
           {.found = fmt::format("{} event streams are open, as many as there may be",
                                 call.api.options.limits.streams),
            .hint = "try again later"});
  }
  const auto stream = std::make_shared<Stream>(call.api, session, stack.stack, tokens);
  call.response.set_header("Cache-Control", "no-store");
  call.response.set_chunked_content_provider(
      "text/event-stream",
      [stream](std::size_t, httplib::DataSink& sink) { return stream->write(sink); });
}

}  // namespace heed::serve
