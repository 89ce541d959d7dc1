#include "serve/local_answers.h"

#include "serve/api.h"

namespace heed::serve {
namespace {

httplib::Request parsed(const LocalRequest& asked) {
  httplib::Request request;
  request.method = asked.method;
  request.target = asked.target;
  request.body = asked.body;
  const std::size_t mark = asked.target.find('?');
  request.path = httplib::detail::decode_url(asked.target.substr(0, mark), false);
  if (mark != std::string::npos)
    httplib::detail::parse_query_text(asked.target.substr(mark + 1), request.params);
  return request;
}

// Does httplib's work for an answer provided in pieces. A stream has no length; its provider is
// called until it reports the end.
bool provide(const httplib::Response& response, const AnswerTaker& taker) {
  bool more = true;
  httplib::DataSink sink;
  sink.write = [&](const char* bytes, std::size_t size) {
    taker.take({bytes, size});
    return true;
  };
  sink.done = [&] { more = false; };
  sink.is_writable = taker.is_waiting;
  if (!response.is_chunked_content_provider_)
    return response.content_provider_(0, response.content_length_, sink);
  while (more)
    if (!taker.is_waiting() || !response.content_provider_(0, 0, sink)) return false;
  return true;
}

}  // namespace

class LocalAnswers::Impl {
 public:
  Impl(const LoadedModel* model, const ServerOptions& given)
      : options(given), api(model, options) {}
  const ServerOptions options;
  Api api;
};

LocalAnswers::LocalAnswers(const LoadedModel* model, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
LocalAnswers::~LocalAnswers() { stop(); }

void LocalAnswers::stop() { impl_->api.stopping = true; }

bool LocalAnswers::answer(const LocalRequest& asked, const AnswerTaker& taker) {
  const auto is_waiting = [&] { return !impl_->api.stopping && taker.is_waiting(); };
  if (!is_waiting()) return false;
  const httplib::Request request = parsed(asked);
  httplib::Response response;
  answer_api(impl_->api, request, response);
  if (!is_waiting()) return false;
  taker.begin(response.status == -1 ? 200 : response.status,
              response.get_header_value("Content-Type"));
  if (response.content_provider_)
    return provide(response, {.is_waiting = is_waiting, .begin = {}, .take = taker.take});
  if (!response.body.empty()) taker.take(response.body);
  return true;
}

}  // namespace heed::serve
