#include "serve/api.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/wording.h"
#include "heed/error.h"
#include "inspect/session/places.h"

namespace heed::serve {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/models", get_models, "model"},
    {"GET", "/api/v1/models/found", get_found_models},
    {"POST", "/api/v1/sessions", post_session},
    {"POST", "/api/v1/picture", post_picture, "failed refused"},
    {"GET", "/api/v1/sessions/{id}", get_session},
    {"DELETE", "/api/v1/sessions/{id}", delete_session},
    {"GET", "/api/v1/sessions/{id}/events", get_events, "stack layer tokens"},
    {"GET", "/api/v1/sessions/{id}/alignment", get_alignment, "from"},
    {"GET", "/api/v1/sessions/{id}/export", get_export, "view format"},
    {"GET", "/api/v1/sessions/{id}/{stack}/heads", get_heads, "layer"},
    {"GET", "/api/v1/sessions/{id}/{stack}/chosen", get_chosen, "query key view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/atlas", get_atlas, "heads cells view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/next", get_next, "position top mask view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/logits", get_logits, "position mask view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/words", get_words, "view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/lens", get_lens, "begin end blocks at view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/branch", get_branch, "position token most view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/beams", get_beams, "beams most view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/flow", get_flow, "position key by named progress view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/flow/graph", get_flow_graph,
     "position by named format view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/effects", get_effects, "position progress view"},
    {"POST", "/api/v1/sessions/{id}/{stack}/similar", post_similar, "view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/changes", get_changes, "from view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/late/{from}", get_late, "view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/evidence/{score}", get_evidence,
     "form against view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/edges", get_edges,
     "heads begin end top_p at_most q view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/tile/{z}/{y}/{x}", get_tile,
     "q pool as view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/row/{query}", get_row,
     "end top_p at_most q view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/rows", get_rows, "begin end q view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/column/{key}", get_column,
     "end top_p at_most q view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/marginals", get_marginals, "q view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/sweep", get_sweep, "q"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/cell/{query}/{key}", get_cell, "view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/why/{query}/{key}", get_why, "view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/why/{query}/{key}/origins", get_origins,
     "against split view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/why/{query}/{key}/effect", get_effect,
     "top view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/why/{query}/{key}/test", get_test,
     "edit id text top view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/anatomy", get_anatomy, "query key view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/dimensions/{query}", get_dimensions,
     "key most view"},
    {"GET", "/api/v1/sessions/{id}/{stack}/{layer}/{head}/geometry/{query}", get_geometry,
     "key rotation view"},
    {"POST", "/api/v1/sessions/{id}/derive", post_derive},
};

}  // namespace

std::span<const Route> api_routes() { return kRoutes; }

void refuse_method(httplib::Response& response, const std::string& allowed) {
  response.set_header("Allow", allowed);
  refuse(405, "bad_request", {.found = "this path answers " + allowed});
}

void answer_safely(httplib::Response& response, const std::function<void()>& answer) {
  try {
    answer();
  } catch (...) {
    const ApiError error = api_error(std::current_exception());
    send_json(response, error.status, error_json(error));
  }
}

namespace {

void answer_route(Api& api, const httplib::Request& request, httplib::Response& response) {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string_view> allowed;
  for (const Route& route : api_routes()) {
    auto values = match_path(route.pattern, request.path);
    if (values && method == route.method) {
      check_names(request, route.parameters);
      route.handler({{request, std::move(*values)}, api, response});
      return;
    }
    if (values)
      allowed.emplace_back(route.method == std::string_view("GET") ? kRead : route.method);
  }
  if (!allowed.empty()) refuse_method(response, joined(allowed, ", "));
  refuse(404, "not_found", {.found = "no such path", .hint = "docs/api.md lists them"});
}

}  // namespace

void answer_api(Api& api, const httplib::Request& request, httplib::Response& response) {
  answer_safely(response, [&] { answer_route(api, request, response); });
}

// Waits only briefly: a client that asks without end must not stop the statistics, which then get a
// tenth of the time.
void Api::give_way() {
  constexpr int kMostWaits = 54;
  constexpr auto kWork = std::chrono::milliseconds(6);
  const auto now = [] { return Clock::now().time_since_epoch(); };
  if (urgent == 0 || now().count() < background_works_until_) return;
  for (int waits = 0; waits < kMostWaits && urgent > 0 && !stopping; ++waits)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (urgent > 0) background_works_until_ = (now() + kWork).count();
}

void send_json(httplib::Response& response, int status, const std::string& json) {
  response.status = status;
  response.set_header("Cache-Control", "no-store");
  response.set_content(json, "application/json; charset=utf-8");
}

std::string replaced_json() {
  return error_json(
      {409,
       {.code = "replaced",
        .message = "a newer request with the same view has taken the place of this"}});
}

namespace {

struct Urgent {
  explicit Urgent(Api& api) : count(api.urgent) { ++count; }
  ~Urgent() { --count; }
  std::atomic<int>& count;
  UrgentScope scope;
};

bool is_json(const LongAnswer& answer) {
  return answer.compute_in_lines || std::string_view(answer.type).starts_with("application/json");
}

// The headers are already sent. If a JSON answer fails, the body is an error, recognisable by its
// one field; other answers end by closing the connection early.
std::optional<std::string> failure(const LongAnswer& answer, const std::exception_ptr& why) {
  if (!is_json(answer)) return {};
  return error_json(api_error(why));
}

// Sends a line ahead of the answer; throws if the client has left.
void send_line(const httplib::DataSink& sink, std::string line) {
  line += '\n';
  if (!sink.write(line.data(), line.size()))
    fail({.code = ErrorCode::kInterrupted, .found = "the client has left"});
}

// A JSON answer that a newer request replaces ends with an error. Empty: the connection closes,
// because the client has left or the answer has another type.
std::optional<std::string> interrupted(const Flag& replaced, const LongAnswer& answer,
                                       const httplib::DataSink& sink) {
  if (replaced == nullptr || !*replaced || !is_json(answer) || !sink.is_writable()) return {};
  return replaced_json();
}

std::optional<std::string> long_body(Api& api, const Flag& flag, const LongAnswer& answer,
                                     const httplib::DataSink& sink) {
  Cancel cancel(flag, [&] { return api.stopping || !sink.is_writable(); });
  std::optional<Urgent> urgent;
  if (answer.urgent) urgent.emplace(api);
  try {
    cancel.check();
    const auto tell = [&](std::string line) { send_line(sink, std::move(line)); };
    std::string body =
        answer.compute_in_lines ? answer.compute_in_lines(cancel, tell) : answer.compute(cancel);
    api.maps.answered();
    return body;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted) return interrupted(flag, answer, sink);
    return failure(answer, std::current_exception());
  } catch (const std::exception&) {
    return failure(answer, std::current_exception());
  }
}

std::string view_asking(const Parameters& parameters) {
  std::string view = parameters.text("view", "");
  if (view.size() > 64)
    refuse_parameter("view", fmt::format("{} long", number_of(view.size(), "byte")), "at most 64");
  return view;
}

}  // namespace

void send_long(const Call& call, LongAnswer answer) {
  const std::string view = answer.named ? view_asking(call) : "";
  const SessionPointer session = answer.session;
  const Flag flag = session->views.enter(view);
  const auto body = [&api = call.api, flag, answer](const httplib::DataSink& sink) {
    return long_body(api, flag, answer, sink);
  };
  const auto leave = [session, view, flag](bool) { session->views.leave(view, flag); };
  if (answer.length > 0) {
    const auto part = [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
      const std::optional<std::string> whole = body(sink);
      return whole && sink.write(whole->data() + offset, length);
    };
    call.response.set_content_provider(answer.length, answer.type, part, leave);
    return;
  }
  call.response.set_header("Cache-Control", "no-store");
  const bool in_lines = answer.compute_in_lines != nullptr;
  const auto all = [body, in_lines](std::size_t, httplib::DataSink& sink) {
    std::optional<std::string> whole = body(sink);
    if (whole && in_lines) *whole += '\n';
    if (!whole || !sink.write(whole->data(), whole->size())) return false;
    sink.done();
    return true;
  };
  call.response.set_chunked_content_provider(in_lines ? kObjectLines : answer.type, all, leave);
}

std::function<std::string(Cancel& cancel)> serially(
    std::function<std::string(const std::function<void()>& check)> compute) {
  return [compute = std::move(compute)](Cancel& cancel) {
    const SerialScope serial;
    return compute([&] { cancel.check(); });
  };
}

SessionPointer find_session(const Call& call) { return call.api.sessions.find(call.path("id")); }

const StackShape& find_stack(const LiveSession& session, const Parameters& parameters) {
  return stack_named(session.session().model, session.shapes(), parameters.path("stack", ""));
}

int layer_in_view(LiveSession& session, const StackShape& stack, std::int64_t layer) {
  check_layer("session", session.session().model, stack, layer);
  session.session().require_kept("session", stack, static_cast<int>(layer));
  session.in_view = session.index_of(stack.stack, static_cast<int>(layer));
  return static_cast<int>(layer);
}

void require_ready(const LiveSession& session) {
  const LiveSession::Progress progress = session.progress();
  if (progress.failed) std::rethrow_exception(progress.failed);
  if (!progress.ready)
    refuse(409, "not_ready",
           {.found = fmt::format("the pass of session {} has not ended", session.id),
            .hint = "wait for the event next"});
}

std::int64_t token_asked(const Parameters& parameters, const char* name, std::int64_t otherwise,
                         std::int64_t count) {
  const std::int64_t token = parameters.number(name, otherwise, INT64_MIN, INT64_MAX);
  check_token("session", name, token, count);
  return token;
}

std::optional<std::int64_t> token_if_asked(const Parameters& parameters, const char* name,
                                           std::int64_t count) {
  if (!parameters.request().has_param(name)) return {};
  return token_asked(parameters, name, 0, count);
}

std::int64_t token_of_path(const Parameters& parameters, const char* name, std::int64_t count) {
  const std::int64_t token = parameters.path_number(name);
  check_token("session", name, token, count);
  return token;
}

Place place_asked(const LiveSession& session, const StackShape& stack, std::int64_t layer,
                  std::int64_t head) {
  check_layer("session", session.session().model, stack, layer);
  check_head("session", session.session().model, stack, head);
  return {stack.stack, static_cast<int>(layer), static_cast<int>(head)};
}

Place place_of_path(const LiveSession& session, const Parameters& parameters) {
  return place_asked(session, find_stack(session, parameters), parameters.path_number("layer"),
                     parameters.path_number("head"));
}

}  // namespace heed::serve
